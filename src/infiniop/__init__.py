"""The operator library. Its functions are in C (`infiniop.h`, `libinfiniop.so.1`); `infiniop.schema` describes them.

`python -m infiniop` lists the operators.
"""

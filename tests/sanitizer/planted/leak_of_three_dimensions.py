# leak | infinirtMalloc3D allocated
from infinirt import runtime as rt

extent = rt.infinirtExtent()
extent.width, extent.height, extent.depth = 10, 10, 10
rt.infinirtMalloc3D(extent)

"""Structs, handles and enums of the flat API as Python objects."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import weakref

import numpy as np
import pytest
from flat_support import rt


def test_fields_are_the_c_memory() -> None:
    pos = rt.infinirtPos()
    pos.x, pos.y, pos.z = 1, 2, 2**64 - 1
    memory = (ctypes.c_uint64 * 3).from_address(pos.getPtr())
    assert list(memory) == [1, 2, 2**64 - 1]
    memory[1] = 77
    assert pos.y == 77
    assert rt.sizeof(rt.infinirtPos) == 24
    view = rt.infinirtPos(_ptr=pos.getPtr())
    view.x = 5
    assert pos.x == 5


def test_nested_structs_are_views() -> None:
    parms = rt.infinirtMemcpy3DParms()
    inner = parms.srcPtr
    inner.pitch = 64
    assert parms.srcPtr.pitch == 64
    assert inner.getPtr() - parms.getPtr() == 32
    other = rt.make_infinirtPitchedPtr(0x1000, 1, 2, 3)
    parms.srcPtr = other
    assert (inner.ptr, inner.pitch, inner.xsize, inner.ysize) == (0x1000, 1, 2, 3)
    other.pitch = 9  # a copy was made
    assert parms.srcPtr.pitch == 1
    with pytest.raises(TypeError, match="srcPtr"):
        parms.srcPtr = rt.infinirtPos()
    with pytest.raises(TypeError, match="srcPtr"):
        parms.srcPtr = None


def test_a_view_keeps_its_struct_alive() -> None:
    inner = rt.infinirtGraphNodeParams().memcpy.copyParams.srcPtr
    gc.collect()
    junk = [rt.infinirtGraphNodeParams() for _ in range(100)]
    inner.pitch = 123
    assert inner.pitch == 123
    assert all(other.memcpy.copyParams.srcPtr.pitch == 0 for other in junk)
    stream = rt.infinirtGraphInstantiateParams().uploadStream
    gc.collect()
    assert int(stream) == 0


def test_numbers_are_checked() -> None:
    desc = rt.infinirtGraphEdgeData()
    desc.from_port = 255
    assert desc.from_port == 255
    for wrong in (256, -1):
        with pytest.raises(OverflowError, match="from_port"):
            desc.from_port = wrong
    assert desc.from_port == 255
    prop = rt.infinirtDeviceProp()
    with pytest.raises(OverflowError, match="major"):
        prop.major = 2**31
    with pytest.raises(TypeError, match="major"):
        prop.major = "9"
    with pytest.raises(AttributeError):
        del prop.major
    window = rt.infinirtAccessPolicyWindow()
    window.hitRatio = 0.5
    assert window.hitRatio == 0.5


def test_arrays_and_bytes() -> None:
    prop = rt.infinirtDeviceProp()
    prop.maxGridSize = [1, 2, 3]
    assert prop.maxGridSize == [1, 2, 3]
    with pytest.raises(IndexError, match="maxGridSize"):
        prop.maxGridSize = [1, 2]
    with pytest.raises(TypeError):
        prop.maxGridSize = [1, 2, "3"]
    assert prop.maxGridSize == [1, 2, 3]
    prop.name = b"chip"
    assert prop.name == b"chip"
    prop.name = "c\u0127ip"
    assert prop.name == "c\u0127ip".encode()
    with pytest.raises(ValueError, match="name"):
        prop.name = b"x" * 257
    prop.luid = b"12345678"
    assert prop.luid == b"12345678"
    with pytest.raises(ValueError, match="luid length must be 8, is 1"):
        prop.luid = b"1"
    with pytest.raises(AttributeError):
        prop.uuid.bytes = bytes(16)


def test_enum_fields() -> None:
    location = rt.infinirtMemLocation()
    location.type = rt.infinirtMemLocationType.infinirtMemLocationTypeDevice
    assert location.type is rt.infinirtMemLocationType.infinirtMemLocationTypeDevice
    location.type = 3
    assert location.type is rt.infinirtMemLocationType(3)
    location.type = 4711  # C may write what we have no name for
    assert location.type == 4711
    assert isinstance(location.type, rt.infinirtMemLocationType)
    assert "4711" in repr(location.type)


def test_handle_fields() -> None:
    params = rt.infinirtEventRecordNodeParams()
    params.event = rt.infinirtEvent_t(0x1234)
    event = params.event
    assert event == rt.infinirtEvent_t(0x1234)
    params.event = 0x99
    assert int(event) == 0x99  # a view of the field
    assert event.getPtr() == params.getPtr()
    params.event = None
    assert int(params.event) == 0


def test_pointer_fields_hold_buffers() -> None:
    params = rt.infinirtHostNodeParams()
    data = bytearray(b"abcd")
    params.userData = data
    assert ctypes.string_at(params.userData, 4) == b"abcd"
    with pytest.raises(BufferError):
        data.append(1)  # the struct points at it
    params.userData = 0
    data.append(1)
    array = np.arange(3)
    params.userData = array
    assert params.userData == array.ctypes.data
    params.userData = None
    assert params.userData == 0
    with pytest.raises(TypeError, match="userData"):
        params.userData = "text"


def test_a_copied_struct_keeps_what_it_points_at() -> None:
    class Data(bytearray):
        pass

    data = Data(b"abcd")
    alive = weakref.ref(data)
    pitched = rt.infinirtPitchedPtr()
    pitched.ptr = data
    parms = rt.infinirtMemcpy3DParms()
    parms.srcPtr = pitched
    del data, pitched
    gc.collect()
    assert alive() is not None
    assert ctypes.string_at(parms.srcPtr.ptr, 4) == b"abcd"
    del parms
    gc.collect()
    assert alive() is None


def test_a_cycle_through_a_struct_is_collected() -> None:
    class Data(bytearray):
        owner: object

    data = Data(8)
    params = rt.infinirtHostNodeParams()
    params.userData = data
    data.owner = params
    alive = weakref.ref(data)
    del data, params
    gc.collect()
    assert alive() is None


def test_host_function_fields() -> None:
    params = rt.infinirtHostNodeParams()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    address = ctypes.cast(function, ctypes.c_void_p).value
    for value in (address, rt.infinirtHostFn_t(address), function):
        params.fn = 0
        params.fn = value
        assert int(params.fn) == address
        assert isinstance(params.fn, rt.infinirtHostFn_t)
    with pytest.raises(TypeError, match="CFUNCTYPE"):
        params.fn = print
    assert int(params.fn) == address


def test_lists_behind_a_pointer() -> None:
    params = rt.infinirtMemAllocNodeParams()
    assert params.accessDescs == []
    access = [rt.infinirtMemAccessDesc() for _ in range(3)]
    for i, desc in enumerate(access):
        desc.location.id = 10 + i
    params.accessDescs = access
    params.accessDescCount = 3
    assert [desc.location.id for desc in params.accessDescs] == [10, 11, 12]
    params.accessDescs[1].location.id = 99
    assert [desc.location.id for desc in params.accessDescs] == [10, 99, 12]
    params.accessDescs = []
    assert params.accessDescs == []
    with pytest.raises(TypeError, match="accessDescs"):
        params.accessDescs = [1]


def test_kernel_parameters() -> None:
    params = rt.infinirtKernelNodeParams()
    params.kernelParams = (
        (1, 2.5, 0xAB, rt.infinirtPos()),
        (ctypes.c_int, ctypes.c_double, ctypes.c_void_p, None),
    )
    array = (ctypes.c_uint64 * 4).from_address(params.kernelParams)
    assert ctypes.c_int.from_address(array[0]).value == 1
    assert ctypes.c_double.from_address(array[1]).value == 2.5
    assert ctypes.c_uint64.from_address(array[2]).value == 0xAB
    assert all(address % 8 == 0 for address in array)
    params.kernelParams = ((rt.infinirtMemcpyKind(3), ctypes.c_short(7)), (None, ctypes.c_short))
    array = (ctypes.c_uint64 * 2).from_address(params.kernelParams)
    assert ctypes.c_int.from_address(array[0]).value == 3
    assert ctypes.c_short.from_address(array[1]).value == 7
    params.kernelParams = 0x5000
    assert params.kernelParams == 0x5000
    params.kernelParams = None
    assert params.kernelParams == 0
    for wrong in ("x", ((1,), ()), ((1,), (int,)), (1, 2), ((object(),), (None,))):
        with pytest.raises(TypeError):
            params.kernelParams = wrong


def test_new_dimensions_are_one() -> None:
    assert (rt.dim3().x, rt.dim3().y, rt.dim3().z) == (1, 1, 1)
    assert rt.infinirtKernelNodeParams().blockDim.z == 1


def test_repr_shows_every_field() -> None:
    text = repr(rt.make_infinirtPitchedPtr(0xAB, 1, 2, 3))
    assert text == "ptr : 0xab\npitch : 1\nxsize : 2\nysize : 3"
    assert repr(rt.infinirtMemAccessDesc()).startswith("location :\n    type : <infinirtMemLocationType.")


def test_every_struct_can_be_made_shown_and_read() -> None:
    seen = 0
    for name in dir(rt):
        cls = getattr(rt, name)
        if isinstance(cls, type) and hasattr(cls, "getPtr"):
            made = cls()
            assert isinstance(repr(made), str)
            for field in dir(cls):
                if not field.startswith("_"):
                    getattr(made, field)
            assert rt.sizeof(cls) >= 1
            seen += 1
    assert seen > 60


def test_python_subclasses() -> None:
    class Named(rt.infinirtPos):  # type: ignore[misc]
        label = "mine"

    pos = Named()
    pos.x = 3
    pos.other = 4
    assert (pos.x, pos.other, pos.label) == (3, 4, "mine")
    parms = rt.infinirtMemcpy3DParms()
    parms.srcPos = pos
    assert parms.srcPos.x == 3


def test_handles() -> None:
    stream = rt.infinirtStream_t(init_value=5)
    assert int(stream) == stream.__index__() == 5
    assert hash(stream) == hash(rt.infinirtStream_t(5))
    assert {stream: 1}[rt.infinirtStream_t(5)] == 1
    assert stream != rt.infinirtEvent_t(5)
    assert stream != 5
    assert repr(stream) == "<infinirtStream_t 0x5>"
    assert ctypes.c_uint64.from_address(stream.getPtr()).value == 5
    assert hash(rt.infinirtStream_t(2**64 - 1)) == hash(2**64 - 1)
    with pytest.raises(TypeError):
        rt.infinirtStream_t(None)
    with pytest.raises(TypeError):
        rt.infinirtStream_t(1, 2, 3)
    with pytest.raises(TypeError):
        assert stream < stream


def test_values_of_64_bits() -> None:
    value = rt.cuuint64_t(7)
    assert int(value) == 7
    assert value == 7 == rt.cuuint64_t(7)
    assert value < 8
    assert repr(value) == "<cuuint64_t 7>"
    assert ctypes.c_uint64.from_address(value.getPtr()).value == 7


def test_enums() -> None:
    error = rt.infinirtError_t
    assert error["infinirtSuccess"] is error(0) is error.infinirtSuccess
    with pytest.raises(KeyError):
        error["nothing"]
    with pytest.raises(ValueError, match="77777 is not a valid infinirtError_t"):
        error(77777)
    assert error is rt.infinirtError
    assert error.__module__ == "infinirt.runtime"
    member = error.infinirtErrorInvalidValue
    assert pickle.loads(pickle.dumps(member)) is member
    assert copy.copy(member) is member
    assert copy.deepcopy(member) is member
    assert f"{member:d}" == "1"
    assert (member | 2, member + 1) == (3, 2)
    with pytest.raises(AttributeError):
        member.other = 1
    kinds = rt.infinirtMemLocationType  # two names for 0
    assert kinds.infinirtMemLocationTypeInvalid == kinds.infinirtMemLocationTypeNone == 0
    assert kinds.infinirtMemLocationTypeInvalid.name == "infinirtMemLocationTypeInvalid"
    assert rt.infinirtGraphChildGraphNodeOwnership(-1).name == "infinirtGraphChildGraphOwnershipInvalid"
    assert rt.infinirtGraphDebugDotFlags(65536) in rt.infinirtGraphDebugDotFlags

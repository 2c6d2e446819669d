"""Wrote the files beside it, with NumPy 1.24: python3 make.py"""
import os

import numpy as np
from numpy.lib import format as npy_format

os.chdir(os.path.dirname(os.path.abspath(__file__)))
a = np.arange(12).reshape(4, 3) - 2.5
pixels = np.arange(24, dtype="u1").reshape(4, 2, 3)
np.save("f4.npy", a.astype("<f4"))
np.save("f8_fortran.npy", np.asfortranarray(a))
np.save("f2.npy", np.array([[0, 1, -2], [0.5, 65504, 2**-24], [-0.0, 2**-14, 1 / 3]], dtype="<f2"))
np.save("u1_3d.npy", pixels)
np.save("u1_3d_fortran.npy", np.asfortranarray(pixels))
np.save("bytes.npy", np.array([3, 0, 2, 1], dtype="u1"))
np.save("i8.npy", np.array([3, 0, 2, 1], dtype="<i8"))
for t in ["i1", "i2", "i4"]:
    np.save(t + ".npy", np.array([-3, 0, 2, 100], dtype="<" + t))
for t in ["u2", "u4", "u8"]:
    np.save(t + ".npy", np.array([3, 0, 2, np.iinfo("<" + t).max], dtype="<" + t))
np.save("b1.npy", np.array([[True, False], [False, True]]))
for version in [2, 3]:
    with open("version%d.npy" % version, "wb") as f:
        npy_format.write_array(f, a.astype("<f4"), version=(version, 0))
np.save("object.npy", np.array([{"a": 1}, None], dtype=object))
np.save("record.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
np.save("big_endian.npy", a.astype(">f4"))
np.save("text.npy", np.array(["a", "b"]))
np.save("nan.npy", np.array([[1, 2], [3, np.nan]], dtype="<f4"))
np.savez("plain.npz", x=a.astype("<f4"), y=np.array([3, 0, 2, 1]))
np.savez_compressed("deflated.npz", x=pixels, y=np.array([3, 0, 2, 1], dtype="u1"))

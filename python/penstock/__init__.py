from penstock import _core

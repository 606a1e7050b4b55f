"""The stubs have the names and the parameters that the package has, and no others."""

import ast
import inspect
from importlib.resources import files

import windfall_sap
from windfall_sap import aio

package = files(windfall_sap)
assert package.joinpath("py.typed").is_file()
stubs = ast.parse(package.joinpath("__init__.pyi").read_text())


def parameters(arguments):
    """The names and the defaults of a stub's parameters."""
    given = arguments.posonlyargs + arguments.args
    defaults = [inspect.Parameter.empty] * (len(given) - len(arguments.defaults))
    defaults += [ast.literal_eval(default) for default in arguments.defaults]
    named = [ast.literal_eval(default) for default in arguments.kw_defaults]
    names = [argument.arg for argument in given + arguments.kwonlyargs]
    return [pair for pair in zip(names, defaults + named) if pair[0] not in ("self", "cls")]


def compare(name, stub, found):
    if any(getattr(decorator, "id", "") == "property" for decorator in stub.decorator_list):
        assert inspect.isgetsetdescriptor(found), name
        return
    if name.split(".")[-1].startswith("__"):
        return
    signature = inspect.signature(found).parameters.values()
    has = [(it.name, it.default) for it in signature if it.name != "self"]
    assert has == parameters(stub.args), (name, has, parameters(stub.args))


def public(names):
    return {name for name in names if not name.startswith("_")}


described = {}
for item in stubs.body:
    if isinstance(item, ast.FunctionDef):
        compare(item.name, item, getattr(windfall_sap, item.name))
        described[item.name] = item
    elif isinstance(item, ast.AnnAssign):
        described[item.target.id] = item
    elif isinstance(item, ast.ClassDef):
        cls, described[item.name] = getattr(windfall_sap, item.name), item
        methods = {method.name: method for method in item.body}
        assert public(methods) == public(vars(cls)), public(methods) ^ public(vars(cls))
        for name, method in methods.items():
            if name not in ("__new__", "__buffer__"):
                compare(f"{item.name}.{name}", method, getattr(cls, name))

assert public(described) == set(windfall_sap.__all__), described.keys()
# The calls of asyncio are annotated where they stand.
for call in [aio.connect, aio.listen, aio.Socket.recv, aio.Listener.accept]:
    assert "return" in call.__annotations__, call
print("typed")

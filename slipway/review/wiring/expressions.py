"""CloudWatch's expressions: metric math, and the queries `SEARCH` and `SELECT` that name metrics in a text."""

import ast
import operator as operators
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Values = Mapping[str, float | None]
"""Value of each metric by its id; None is no data."""

_SEARCH = re.compile(r"""SEARCH\('\{(?P<head>[^}]*)\}(?P<terms>.*)',\s*'(?P<statistic>[A-Za-z0-9.]+)'.*\)""", re.DOTALL)
_TERM = re.compile(r"""(\w+)="([^"]*)\"""")
_SELECT = re.compile(
    r"""SELECT\s+(?P<statistic>\w+)\((?P<name>\w+)\)\s+FROM\s+SCHEMA\((?P<schema>[^)]*)\)(?:\s+WHERE\s+(?P<where>.*))?""",
    re.DOTALL | re.IGNORECASE,
)
_CONDITION = re.compile(r"""(\w+)\s*=\s*'([^']*)'""")
_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operators.add,
    ast.Sub: operators.sub,
    ast.Mult: operators.mul,
    ast.Pow: operators.pow,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Gt: operators.gt,
    ast.GtE: operators.ge,
    ast.Lt: operators.lt,
    ast.LtE: operators.le,
    ast.Eq: operators.eq,
    ast.NotEq: operators.ne,
}
_STATISTICS = {"sum": "Sum", "avg": "Average", "min": "Minimum", "max": "Maximum", "count": "SampleCount"}

FUNCTIONS = frozenset(
    [
        "ABS",
        "ANOMALY_DETECTION_BAND",
        "AVG",
        "CEIL",
        "DIFF",
        "FILL",
        "FIRST",
        "FLOOR",
        "IF",
        "LAST",
        "MAX",
        "METRICS",
        "METRIC_COUNT",
        "MIN",
        "PERIOD",
        "RATE",
        "RUNNING_SUM",
        "SEARCH",
        "SORT",
        "STDDEV",
        "SUM",
        "TIME_SERIES",
    ]
)
"""Functions of metric math (Amazon CloudWatch User Guide, "Using math expressions with CloudWatch metrics"), those of
clocks and of logs aside."""


class UnreadableExpressionError(ValueError):
    """An expression is not metric math; the message says why."""


@dataclass(frozen=True)
class NamedMetric:
    """A metric that a query names.

    Attributes:
        dimensions: every dimension, with its value where the query has one.
    """

    namespace: str
    name: str
    dimensions: Mapping[str, str | None]
    statistic: str


def queried(expression: str) -> NamedMetric | None:
    """Return the metric of a `SEARCH` or `SELECT`; None when the expression is neither.

    Raises:
        UnreadableExpressionError: it is one, and names no metric.
    """
    if search := _SEARCH.fullmatch(expression.strip()):
        namespace, *names = (item.strip() for item in search["head"].split(","))
        terms = dict(_TERM.findall(search["terms"]))
        name = terms.pop("MetricName", "")
        dimensions = {**dict.fromkeys(names), **terms}
        return NamedMetric(namespace, name, dimensions, search["statistic"])
    if select := _SELECT.fullmatch(expression.strip()):
        namespace, *names = (item.strip().strip('"') for item in select["schema"].split(","))
        dimensions = {**dict.fromkeys(names), **dict(_CONDITION.findall(select["where"] or ""))}
        return NamedMetric(namespace, select["name"], dimensions, _STATISTICS.get(select["statistic"].lower(), ""))
    if re.match(r"\s*(SEARCH\s*\(|SELECT\b)", expression, re.IGNORECASE):
        raise UnreadableExpressionError("the query names no metric")
    return None


class Math:
    """An expression of metric math with numbers, `IF`, `FILL`, `PERIOD` and the like."""

    def __init__(self, text: str) -> None:
        """Parse it.

        Raises:
            UnreadableExpressionError: it is not metric math.
        """
        # Metric math is written like Python but for `AND`, `OR`, `^` and the case of functions.
        python = re.sub(r"\bAND\b|&&", " and ", re.sub(r"\bOR\b|\|\|", " or ", text)).replace("^", "**")
        try:
            self._tree = ast.parse(python.strip(), mode="eval").body
        except SyntaxError as error:
            raise UnreadableExpressionError(f"{text!r} is not metric math: {error.msg}") from error
        called = {node.func for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        functions = {node.id for node in called if isinstance(node, ast.Name)}
        if unknown := functions - FUNCTIONS:
            raise UnreadableExpressionError(
                f"{text!r} calls {', '.join(sorted(unknown))}, which metric math does not have"
            )
        self.ids = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)} - functions
        """Ids that it uses."""

    @property
    def numbers(self) -> set[float]:
        """Numbers that stand in it."""
        return {
            float(node.value)
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        }

    @property
    def filled(self) -> set[str]:
        """Ids for which it has a value where there is no data."""
        return {node.args[0].id for node in self._calls("FILL") if node.args and isinstance(node.args[0], ast.Name)}

    def _calls(self, function: str) -> Iterator[ast.Call]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function:
                yield node

    def value(self, values: Values, period: int) -> float | None:
        """Return its value; None where it has no data.

        Args:
            values: value of each id.
            period: seconds.

        Raises:
            UnreadableExpressionError: it has something that this reader does not evaluate.
        """
        return _value(self._tree, values, period)


def _value(node: ast.expr, values: Values, period: int) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _arithmetic(ast.Mult(), -1.0, _value(operand, values, period))
        case ast.BinOp(left=left, op=operator, right=right):
            return _arithmetic(operator, _value(left, values, period), _value(right, values, period))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _comparison(operator, _value(left, values, period), _value(right, values, period))
        case ast.Call(func=ast.Name(id=function), args=arguments):
            return _called(function, arguments, values, period)
    raise UnreadableExpressionError("has a part that is not evaluated")


def _called(function: str, arguments: list[ast.expr], values: Values, period: int) -> float | None:
    if function == "PERIOD":
        return float(period)
    found = [_value(argument, values, period) for argument in arguments]
    match function, found:
        case "IF", [condition, yes, no]:
            return None if condition is None else yes if condition else no
        case "FILL", [value, other]:
            return other if value is None else value
        case "ABS", [float() as value]:
            return abs(value)
        case (("MAX" | "MIN" | "SUM" | "AVG"), [value]):
            return value
    raise UnreadableExpressionError(f"calls {function}, which is not evaluated")


def _arithmetic(operator: ast.operator, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    if isinstance(operator, ast.Div):
        return left / right if right else None
    if type(operator) not in _ARITHMETIC:
        raise UnreadableExpressionError("has an operator that is not evaluated")
    return float(_ARITHMETIC[type(operator)](left, right))


def _comparison(operator: ast.cmpop, left: float | None, right: float | None) -> float | None:
    if left is None or right is None:
        return None
    if type(operator) not in _COMPARISONS:
        raise UnreadableExpressionError("has a comparison that is not evaluated")
    return float(_COMPARISONS[type(operator)](left, right))

"""A request in the validator's form, parsed from the executor's output with the parsers of web frameworks."""

import base64
import re
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from openapi_core.datatypes import RequestParameters
from openapi_core.templating.datatypes import TemplateResult
from openapi_core.templating.paths.datatypes import PathOperationServer
from openapi_core.templating.paths.finders import APICallPathFinder
from werkzeug.datastructures import Headers, ImmutableMultiDict
from werkzeug.http import parse_cookie


class Sent:
    """`is_routed`: as in a framework that finds the route and passes its template and values to the validator."""

    def __init__(self, line, is_routed=False):
        url = urlsplit(line["url"])
        headers = Headers(line["headers"])
        cookies = parse_cookie(headers.get("cookie", ""))
        self.host_url = f"{url.scheme}://{url.netloc}"
        self.path = url.path
        self.method = line["method"].lower()
        self.content_type = headers.get("content-type", "")
        self.body = base64.b64decode(line["body"]) if line["body"] is not None else None
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(parse_qsl(url.query, keep_blank_values=True)),
            header=headers,
            cookie=ImmutableMultiDict([(unquote(name), unquote(value)) for name, value in cookies.items(multi=True)]),
        )
        if is_routed:
            found = route(line["path"], url)
            if found is None:
                raise ValueError(f"{line['url']} does not lead to {line['path']}")
            base, self.parameters.path = found
            self.path_pattern = base + line["path"]


def route(template, url):
    """Returns the path before the template, and the values of its parameters, or `None` without a match.

    A fragment of a template is never sent. A query of a template is at the beginning of the request's query.
    """
    path, mark, query = template.partition("#")[0].partition("?")
    names, expression = read_template(path, "[^/?]*")
    more_names, more = read_template(query, "[^&]*")
    expression += rf"\?{more}(?:&|$)" if mark and query else r"(?:\?|$)"
    match = re.search(expression, url.path + (f"?{url.query}" if url.query else ""))
    return match and (url.path[: match.start()], values(zip(names + more_names, match.groups())))


def read_template(template, place):
    """Returns the names of the parameters, and a regular expression with a group for each."""
    pieces = re.split(r"{([^}]*)}", template)
    literals = [f"(?:{re.escape(literal)}|{re.escape(quote(literal))})" for literal in pieces[::2]]
    return pieces[1::2], f"({place})".join(literals)


def values(pairs):
    """Decodes the values, as routers do, also under the names that the validator requires for `matrix` and `label`."""
    decoded = {}
    for name, value in pairs:
        for alias in (name, f";{name}", f";{name}*", f".{name}", f".{name}*"):
            decoded[alias] = unquote(value)
    return decoded


class Finder(APICallPathFinder):
    """Finds the operation by the undecoded path of the request, and decodes the parameter values afterwards."""

    found = None

    def find(self, method, name):
        path, operation, server, result, server_result = super().find(method, name)
        self.found = result.pattern
        result = TemplateResult(result.pattern, values(result.variables.items()))
        return PathOperationServer(path, operation, server, result, server_result)

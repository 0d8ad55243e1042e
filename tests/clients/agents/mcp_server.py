"""An MCP server over standard input and output, with many similar tools. It appends each call that it gets to a log.

    mcp_server.py NAME COUNT LOG

The tools are `get_record_1` to `get_record_COUNT`, with the parameters `customer_id` (string, required) and `limit`
(integer). The log has a JSON line for each call: the server's name, the tool and its arguments.
"""

import json
import sys


def tools(count):
    schema = {
        "type": "object",
        "properties": {
            "customer_id": {"type": "string", "description": "Id of the customer."},
            "limit": {"type": "integer", "description": "Maximum number of records."},
        },
        "required": ["customer_id"],
    }
    return [
        {"name": f"get_record_{number}", "description": f"Returns the records of table {number}.", "inputSchema": schema}
        for number in range(1, count + 1)
    ]


def fault(arguments):
    """Returns what is wrong with the arguments, as a strict server checks them."""
    if not isinstance(arguments.get("customer_id"), str):
        return "customer_id: a string is required"
    if "limit" in arguments and not isinstance(arguments["limit"], int):
        return "limit: not an integer"
    return None


def answer(name, count, log, method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": name, "version": "1"},
        }
    if method == "tools/list":
        return {"tools": tools(count)}
    if method == "tools/call":
        arguments = params.get("arguments") or {}
        log.write(json.dumps({"server": name, "tool": params["name"], "arguments": arguments}, sort_keys=True) + "\n")
        log.flush()
        problem = fault(arguments)
        text = problem or f"ticket: R{params['name'].rsplit('_', 1)[-1]}"
        return {"content": [{"type": "text", "text": text}], "isError": problem is not None}
    return {}


def main():
    name, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with open(path, "a") as log:
        for line in sys.stdin:
            request = json.loads(line)
            if "id" not in request:
                continue
            result = answer(name, count, log, request["method"], request.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()

"""AWS's answer to a call that is not allowed, in the protocol of the call."""

import json
from collections.abc import Callable
from typing import Any

from slipway_emulator.permissions.calls import Call

_JSON = ("json", "rest-json", "smithy-rpc-v2-cbor")


def refuse(call: Call, message: str, start_response: Callable[..., Any]) -> list[bytes]:
    """Answer that a call is not allowed."""
    text = f"User: {message}"
    if call.protocol in _JSON:
        code = "AccessDeniedException"
        headers = [("Content-Type", "application/json"), ("x-amzn-errortype", code)]
        body = json.dumps({"__type": code, "message": text, "Message": text})
    else:
        headers = [("Content-Type", "text/xml")]
        body = f"<?xml version='1.0'?>{_as_xml(call, text)}"
    content = body.encode()
    start_response("403 Forbidden", [*headers, ("Content-Length", str(len(content))), ("x-amzn-requestid", "refused")])
    return [content]


def _as_xml(call: Call, text: str) -> str:
    code = "UnauthorizedOperation" if call.protocol == "ec2" else "AccessDenied"
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    error = f"<Error><Code>{code}</Code><Message>{escaped}</Message></Error>"
    if call.protocol == "ec2":
        return f"<Response><Errors>{error}</Errors><RequestID>refused</RequestID></Response>"
    if call.protocol == "query":
        return f"<ErrorResponse>{error}<RequestId>refused</RequestId></ErrorResponse>"
    return error

"""A refusal of a request, rendered in the form of its protocol."""


class Refusal(Exception):
    def __init__(self, message, status=400, param=None, code=None, details=None):
        super().__init__(message)
        self.message, self.status, self.param, self.code, self.details = message, status, param, code, details


def require(condition, message, **options):
    if not condition:
        raise Refusal(message, **options)


def known(body, names, message):
    for name in body:
        require(name in names, message.format(name), param=name)

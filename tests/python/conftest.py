import documents
import pytest


@pytest.fixture(params=documents.__all__)
def document(request):
    return getattr(documents, request.param)()

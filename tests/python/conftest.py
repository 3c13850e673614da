import documents
import pytest


@pytest.fixture(params=["learning_curve", "learning_curve_of_two_panels", "spectrum"])
def document(request):
    return getattr(documents, request.param)()

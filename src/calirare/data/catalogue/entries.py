"""What is known of the benchmark graphs: where they come from, and what they must hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from calirare.errors import InputError, nearest


@dataclass(frozen=True)
class UpstreamFile:
    """One file of a benchmark's authors. `sha256` is None where no trusted copy was at hand to compute it from."""

    name: str
    url: str
    sha256: str | None


@dataclass(frozen=True)
class Benchmark:
    """One benchmark graph.

    Args:
        name: What `load_benchmark` takes.
        title: What papers call it.
        reader: Which conversion turns the upstream files into arrays (see `calirare.data.catalogue.convert`).
        files: The upstream files.
        num_nodes: Nodes.
        num_directed_edges: Columns of the stored `edge_index`: both directions, and self-loops where upstream has them.
        num_features: Features.
        class_counts: Nodes of each original class, as stored.
        rare_class: The original class that is looked for.
        num_unlabelled: Nodes that upstream gives no label.
        content_sha256: Of the converted arrays (`calirare.data.storage.archive.content_sha256`).
        licence: Of the upstream repository.
        source: The upstream repository.
        paper: One of the five graphs of the paper.
        words: Attributes are words, divided by their row sums when loaded; else columns, which are standardised.
    """

    name: str
    title: str
    reader: str
    files: tuple[UpstreamFile, ...]
    num_nodes: int
    num_directed_edges: int
    num_features: int
    class_counts: tuple[int, ...]
    rare_class: int
    content_sha256: str
    licence: str
    source: str
    num_unlabelled: int = 0
    paper: bool = True
    words: bool = True

    @property
    def rare_share(self) -> float:
        """Share of the rare class among all nodes."""
        return self.class_counts[self.rare_class] / self.num_nodes


def _planetoid(name: str, hashes: dict[str, str]) -> tuple[UpstreamFile, ...]:
    base = "https://github.com/kimiyoung/planetoid/raw/master/data"
    return tuple(
        UpstreamFile(f"ind.{name}.{part}", f"{base}/ind.{name}.{part}", sha256) for part, sha256 in hashes.items()
    )


_MUSAE = "https://raw.githubusercontent.com/benedekrozemberczki/MUSAE/master/input"

_CORA = Benchmark(
    name="cora",
    title="Cora",
    reader="planetoid",
    files=_planetoid(
        "cora",
        {
            "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
            "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
            "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
            "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
            "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
            "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
            "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
            "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        },
    ),
    num_nodes=2708,
    num_directed_edges=10556,
    num_features=1433,
    class_counts=(351, 217, 418, 818, 426, 298, 180),
    rare_class=0,
    content_sha256="60fb39d80504cd452e4bf5a097296be597d096f3caa788ab4fa7e238098f858d",
    licence="MIT",
    source="github.com/kimiyoung/planetoid",
)

_CITESEER = Benchmark(
    name="citeseer",
    title="CiteSeer",
    reader="planetoid",
    files=_planetoid(
        "citeseer",
        {
            "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        },
    ),
    num_nodes=3327,
    num_directed_edges=9104,
    num_features=3703,
    class_counts=(264, 590, 668, 701, 596, 508),  # the 15 unlabelled nodes are stored as class 0, as PyG reads them
    rare_class=5,
    num_unlabelled=15,
    content_sha256="9804effc771b1f2446b276076d3c0208f6c1fc374a33fd0fc77702538eb05a5e",
    licence="MIT",
    source="github.com/kimiyoung/planetoid",
)

_PUBMED = Benchmark(
    name="pubmed",
    title="PubMed",
    reader="planetoid",
    files=_planetoid(
        "pubmed",
        {
            "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        },
    ),
    num_nodes=19717,
    num_directed_edges=88648,
    num_features=500,
    class_counts=(4103, 7739, 7875),
    rare_class=0,
    content_sha256="253fcf82081f6bb0a03ad1c3cf4375b9fb4c17ff0cb1bf553a303816b980cd93",
    licence="MIT",
    source="github.com/kimiyoung/planetoid",
)

# No byte-for-byte copy of the upstream file was at hand, so its sha256 cannot be pinned and `verify` goes by the
# statistics. The pinned content is that of a re-saved copy with the same statistics; its node order may differ.
_DBLP = Benchmark(
    name="dblp",
    title="DBLP",
    reader="citation_full",
    files=(UpstreamFile("dblp.npz", "https://github.com/abojchevski/graph2gauss/raw/master/data/dblp.npz", None),),
    num_nodes=17716,
    num_directed_edges=105734,
    num_features=1639,
    class_counts=(7920, 5645, 1982, 2169),
    rare_class=2,
    content_sha256="502670a3b1f75d919620e46a5b4e765b87da99fcb18d58b14501df82062353e3",
    licence="MIT",
    source="github.com/abojchevski/graph2gauss",
)

_FACEBOOK = Benchmark(
    name="facebook",
    title="Facebook",
    reader="musae_facebook",
    files=(
        UpstreamFile(
            "facebook_edges.csv",
            f"{_MUSAE}/edges/facebook_edges.csv",
            "7c50d8f02a75cc0829577814a1fc14535164daa38d79c3612340c9e9cdbd4022",
        ),
        UpstreamFile(
            "facebook.json",
            f"{_MUSAE}/features/facebook.json",
            "ea870537646a93642a0008d38aa9bfeff02018070ba97b1f3f469d9622626436",
        ),
        UpstreamFile(
            "facebook_target.csv",
            f"{_MUSAE}/target/facebook_target.csv",
            "7bd96eafea3c2ca40f44bfa9e73642194696c21e38c7b29ed409c32ad14075cd",
        ),
    ),
    num_nodes=22470,
    num_directed_edges=342004,
    num_features=4714,
    class_counts=(6495, 3327, 5768, 6880),
    rare_class=1,
    content_sha256="e23bb92d9a947337251f2856bf620c3f3b67a1af37c3fc391cf395593490fcc2",
    licence="GPL-3.0",
    source="github.com/benedekrozemberczki/MUSAE",
)

# The two below came as converted arrays without a copy of the upstream file, so its sha256 cannot be pinned here; what a
# download gives is judged by its statistics, and its arrays are compared with the pinned ones.
_TOLOKERS = Benchmark(
    name="tolokers",
    title="Tolokers",
    reader="heterophilous",
    files=(
        UpstreamFile(
            "tolokers.npz",
            "https://github.com/yandex-research/heterophilous-graphs/raw/main/data/tolokers.npz",
            None,
        ),
    ),
    num_nodes=11758,
    num_directed_edges=1038000,
    num_features=10,
    class_counts=(9192, 2566),
    rare_class=1,
    content_sha256="94c957ed9bcc24aa85dd663e6be562f72d2692d6f9449bddc13adbe832f7f50a",
    licence="MIT",
    source="github.com/yandex-research/heterophilous-graphs",
    paper=False,
    words=False,
)

_REDDIT = Benchmark(
    name="reddit",
    title="Reddit",
    reader="pygod",
    files=(UpstreamFile("reddit.pt.zip", "https://github.com/pygod-team/data/raw/main/reddit.pt.zip", None),),
    num_nodes=10984,
    num_directed_edges=157032,
    num_features=64,
    class_counts=(10618, 366),
    rare_class=1,
    content_sha256="440225ce946907b65396a94cb49188b3dff4179af96461885bd3441e8e5d6780",
    licence="MIT",
    source="github.com/pygod-team/data",
    paper=False,
    words=False,
)

BENCHMARKS = {entry.name: entry for entry in (_CORA, _CITESEER, _PUBMED, _DBLP, _FACEBOOK, _TOLOKERS, _REDDIT)}


def find_benchmark(name: str, own: Iterable[str] = ()) -> Benchmark:
    """The entry of that name, whatever its case; `own` are further names that would have done, for the message."""
    entry = BENCHMARKS.get(str(name).lower())
    if entry is None:
        names = [*sorted(BENCHMARKS), *own]
        raise InputError(f"name must be one of {names}; got {name!r}: {nearest(str(name), names)}")
    return entry

"""Pictures by matplotlib, for the documents."""

import sys


def plotting(program):
    """matplotlib's pyplot. Call it before anything is measured: it ends the program if there is none."""
    try:
        import matplotlib
    except ImportError:
        sys.exit(f"{program}: matplotlib is not installed: ./scripts/install_packages paper, or only python3-matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "sennit"  # the same input makes the same file
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    return pyplot


def finish(axes, title):
    """What all panels have in common."""
    axes.set_title(title, loc="left")
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})

"""Figures of many small panels, one column per data set, drawn by gnuplot as SVG. Used by bench/paper."""
import math
import re
import subprocess

# Okabe and Ito's colours, told apart with every kind of colour vision; the dashes also in print without colours.
STYLES = {
    "fedavg": ("FedAvg", "#0072B2", 1),
    "mu0": ("FedProx, mu 0", "#E69F00", 2),
    "mu1": ("FedProx, mu 1", "#009E73", 1),
    "dynamic": ("FedProx, dynamic mu", "#CC79A7", 4),
}
PANEL_WIDTH, PANEL_HEIGHT, LEFT, RIGHT, TOP, BOTTOM, GAP_X, GAP_Y = 215, 170, 88, 20, 64, 50, 46, 30


def quoted(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def legend(styles, width, height):
    """One for the whole figure, above the panels: a line and a name for each style."""
    lines, widths = [], [75 + 6.3 * len(STYLES[style][0]) for style in styles]
    for i, style in enumerate(styles):
        name, colour, dash = STYLES[style]
        x, y = ((width + LEFT - sum(widths)) / 2 + sum(widths[:i])) / width, 1 - 17 / height
        lines.append("set arrow from screen %.4f,%.4f to screen %.4f,%.4f nohead lw 2.5 lc rgb '%s' dt %d" % (
            x, y, x + 34 / width, y, colour, dash))
        lines.append("set label %s at screen %.4f,%.4f left noenhanced" % (quoted(name), x + 41 / width, y))
    return lines


def tic_step(high):
    """1, 2 or 5 times a power of ten, so that there are three to six tics."""
    power = 10.0 ** math.floor(math.log10(high / 3))
    return "%g" % max(power * f for f in (1, 2, 5) if power * f <= high / 3)


def panel_lines(panel, at, index):
    """at: (left, right, bottom, top) as parts of the figure."""
    lines = ["set lmargin at screen %.5f\nset rmargin at screen %.5f\nset bmargin at screen %.5f\nset tmargin at screen %.5f" % at]
    lines.append("set title %s noenhanced offset 0,-0.4 font ',14'" % quoted(panel["title"]) if panel.get("title") else "unset title")
    lines.append("set ylabel %s noenhanced offset 0.6,0" % quoted(panel["ylabel"]) if panel.get("ylabel") else "unset ylabel")
    lines.append("set xlabel 'round' offset 0,0.4" if panel.get("has_xlabel") else "unset xlabel")
    lines.append("set format x %s" % ("'%g'" if panel.get("has_xlabel") else "''"))
    lines.append("set xrange [0:%d]\nset xtics %d" % (panel["rounds"], panel["rounds"] // 4))
    lines.append("set yrange [%s:%s]\nset ytics %s" % (panel["range"] + (tic_step(float(panel["range"][1])),)))
    plots = ["$p%d_%d using 1:2 with lines lw 1.8 lc rgb '%s' dt %d" % ((index, i) + STYLES[style][1:])
             for i, (style, _) in enumerate(panel["curves"])]
    return lines + ["plot " + ", ".join(plots) if plots else "plot NaN"]


def slim(svg):
    """Without the groups in which gnuplot draws nothing, its unused symbols, the second decimal of a pixel, and what
    it says anew in every group."""
    family = "Helvetica,Arial,sans-serif"
    for said in (' stroke-linecap="butt" stroke-linejoin="miter"', ' fill="none"', ' class="gridline"', ' font-family="%s"' % family):
        svg = svg.replace(said, "")
    svg = svg.replace('<g id="gnuplot_canvas">', '<g id="gnuplot_canvas" fill="none" font-family="%s">' % family)
    svg = re.sub(r"rgb\((\d+), ?(\d+), ?(\d+)\)", lambda m: "#%02x%02x%02x" % tuple(map(int, m.groups())), svg)
    svg = re.sub(r"<defs>.*?</defs>\n", "", svg, count=1, flags=re.S)
    svg = re.sub(r"<tspan *>([^<]*)</tspan>", r"\1", svg)
    svg = re.sub(r"(?<=\d\.\d)\d(?=[ ,)'])", "", svg)
    svg = re.sub(r"\s*<g [^>]*>\s*<text></text>\s*</g>", "", svg)
    svg = re.sub(r"<g [^>]*>\s*</g>\n", "", svg)
    return re.sub(r"[ \t]+(?=\n|'/>)", "", svg)


def draw(path, rows):
    """rows: lists of panels: dicts of curves [(style, [(round, value)])], rounds, range (low, high), and what they say."""
    columns = max(len(row) for row in rows)
    width = LEFT + RIGHT + columns * PANEL_WIDTH + (columns - 1) * GAP_X
    height = TOP + BOTTOM + len(rows) * PANEL_HEIGHT + (len(rows) - 1) * GAP_Y
    styles = [s for s in STYLES if any(s == style for row in rows for p in row for style, _ in p["curves"])]
    script = ["set terminal svg size %d,%d dynamic background '#ffffff' font 'Helvetica,Arial,sans-serif,12'" % (width, height)]
    for index, panel in enumerate(p for row in rows for p in row):
        for i, (_, points) in enumerate(panel["curves"]):
            script.append("$p%d_%d << EOD\n%s\nEOD" % (index, i, "\n".join("%d %.4g" % point for point in points)))
    script.append("set multiplot\nunset key\nset grid lc rgb '#e4e4e4' lw 0.8\nset border 3 lc rgb '#666666'\nset tics nomirror")
    index = 0
    for r, row in enumerate(rows):
        for c, panel in enumerate(row):
            left, top = LEFT + c * (PANEL_WIDTH + GAP_X), TOP + r * (PANEL_HEIGHT + GAP_Y)
            at = (left / width, (left + PANEL_WIDTH) / width, 1 - (top + PANEL_HEIGHT) / height, 1 - top / height)
            script += legend(styles, width, height) if index == 0 else ["unset arrow\nunset label"] if index == 1 else []
            script += panel_lines(dict(panel, has_xlabel=r == len(rows) - 1), at, index)
            index += 1
    script.append("unset multiplot")
    done = subprocess.run(["gnuplot", "-"], input="\n".join(script), capture_output=True, text=True)
    if done.returncode != 0 or done.stderr.strip():
        raise SystemExit("bench paper: gnuplot could not draw %s: %s" % (path, done.stderr.strip()))
    with open(path, "w") as f:
        f.write(slim(done.stdout))

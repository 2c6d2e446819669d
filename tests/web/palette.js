// A screenshot with 256 colours: a third of its bytes, for what is edges of letters otherwise.

// The commonest half, then whatever is furthest from its nearest for how common it is.
function chosenColours(counts) {
    const all = [...counts].sort((a, b) => b[1] - a[1]).map(([value, count]) => (
        { count, rgb: [value & 255, (value >> 8) & 255, (value >> 16) & 255], value, nearest: 0, far: Infinity }));
    const palette = [];
    const take = (one) => {
        for (const other of all) {
            const far = other.rgb.reduce((sum, c, i) => sum + (c - one.rgb[i]) ** 2, 0);
            if (far < other.far)
                Object.assign(other, { far, nearest: palette.length });
        }
        palette.push(one.rgb);
    };
    all.slice(0, 128).forEach(take);
    while (palette.length < Math.min(256, all.length))
        take(all.reduce((best, one) => (one.far * one.count > best.far * best.count ? one : best)));
    return { palette, indexOf: new Map(all.map((one) => [one.value, one.nearest])) };
}

// png: in base64. Answers {width, height, palette: [[r, g, b]], pixels: in base64, a byte each}.
async function toPalette(png) {
    const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const { width, height } = image;
    const canvas = new OffscreenCanvas(width, height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    const values = new Int32Array(canvas.getImageData(0, 0, width, height).data.buffer);
    const counts = new Map();
    for (const value of values)
        counts.set(value, (counts.get(value) ?? 0) + 1);
    const { palette, indexOf } = chosenColours(counts);
    let text = '';
    for (let from = 0; from < values.length; from += 32768)
        text += String.fromCharCode(...Array.from(values.subarray(from, from + 32768), (value) => indexOf.get(value)));
    return { width, height, palette, pixels: btoa(text) };
}

/** The order of listings: by UTF-8 bytes, which is the order of code points and not of JavaScript's units. */
export function compareKeys(a: string, b: string): number {
	const length = Math.min(a.length, b.length);
	for (let at = 0; at < length; at++) {
		const x = a.charCodeAt(at);
		const y = b.charCodeAt(at);
		if (x === y) continue;
		// A surrogate stands for a code point above every other unit.
		const surrogateX = x >= 0xd800 && x <= 0xdfff;
		const surrogateY = y >= 0xd800 && y <= 0xdfff;
		if (surrogateX !== surrogateY) return surrogateX ? 1 : -1;
		return x - y;
	}
	return a.length - b.length;
}

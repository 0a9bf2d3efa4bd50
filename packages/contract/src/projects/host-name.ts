/** The host name in what a user typed or pasted: `https://Shop.example.com/cart` is `shop.example.com`. */
export const hostNameIn = (typed: string): string =>
  typed
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/[/?#].*$/s, '')
    .replace(/\.$/, '')
    .toLowerCase()

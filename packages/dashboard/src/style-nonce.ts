/** The nonce that the server gave this page: style tags made by scripts are let in by it alone. */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

// The package that keeps the page from scrolling behind a dialog looks for its nonce here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce })

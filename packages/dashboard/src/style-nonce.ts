/** The CSP nonce of this page. The browser accepts style tags created by scripts only with it. */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

// react-remove-scroll, which stops the page from scrolling behind a dialog, reads its nonce from this variable.
Object.assign(globalThis, { __webpack_nonce__: styleNonce })

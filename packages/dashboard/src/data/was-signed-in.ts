const name = 'berth.signed-in'

/** Whether somebody was signed in here when the session was last asked for: a guess, for what is worth asking for before it is known. */
export const wasSignedIn = {
  get: (): boolean => window.localStorage.getItem(name) !== null,
  set(isSo: boolean) {
    if (isSo) window.localStorage.setItem(name, 'yes')
    else window.localStorage.removeItem(name)
  },
}

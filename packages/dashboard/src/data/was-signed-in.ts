const name = 'berth.signed-in'

/** Whether a user was signed in when the session was last read: a guess, used to prefetch data before the session is known. */
export const wasSignedIn = {
  get: (): boolean => window.localStorage.getItem(name) !== null,
  set(isSignedIn: boolean) {
    if (isSignedIn) window.localStorage.setItem(name, 'yes')
    else window.localStorage.removeItem(name)
  },
}

/** For every git of ours: nothing of the machine's or a user's settings, no hooks, no prompts, no protocol but the one that a call adds. */
export const constantConfig = [
  'protocol.allow=never',
  'protocol.version=2',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.askPass=',
  'core.autocrlf=false',
  'credential.helper=',
  'credential.interactive=never',
  'transfer.credentialsInUrl=die',
  'http.followRedirects=initial',
  // A server that sends less than this is taken for dead, long before the whole time is over.
  'http.lowSpeedLimit=100',
  'http.lowSpeedTime=30',
  // A server may name other addresses for parts of its answer: none is asked.
  'transfer.bundleURI=false',
  'fetch.uriProtocols=',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'fetch.unpackLimit=1',
  'gc.auto=0',
  'maintenance.auto=false',
  'i18n.logOutputEncoding=UTF-8',
  'advice.detachedHead=false',
]

export const constantEnvironment = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  GIT_LFS_SKIP_SMUDGE: '1',
  LC_ALL: 'C',
  LANGUAGE: '',
}

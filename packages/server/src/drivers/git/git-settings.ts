/**
 * Config of every git process: no settings of the machine or a user, no hooks, no prompts, and only the protocol that a call
 * adds.
 */
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
  // Ends a connection to a server that sends less than this, long before the whole timeout.
  'http.lowSpeedLimit=100',
  'http.lowSpeedTime=30',
  // A server may name other URLs for parts of its response: none is requested.
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

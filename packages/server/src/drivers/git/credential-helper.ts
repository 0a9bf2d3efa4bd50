import type { RemoteAddress } from './remote.ts'

/**
 * Script that git runs for a user name and a password. It responds only for the remote's own scheme, host and port, so a
 * redirect to another host gets nothing. The token comes from file descriptor 3, inherited through git: it is in no argument,
 * variable, file or config.
 */
export const credentialHelperScript = `#!/bin/sh
[ "$1" = get ] || exit 0
protocol= host=
while IFS= read -r line && [ -n "$line" ]; do
  case $line in
    protocol=*) protocol=\${line#protocol=} ;;
    host=*) host=\${line#host=} ;;
  esac
done
[ "$protocol" = "$BERTH_CREDENTIAL_PROTOCOL" ] && [ "$host" = "$BERTH_CREDENTIAL_HOST" ] || exit 0
IFS= read -r token <&3 || exit 0
printf 'username=%s\\npassword=%s\\n' "$BERTH_CREDENTIAL_USERNAME" "$token"
`

/** git runs a helper through a shell; the text is constant, and the path is expanded from a variable, not parsed. */
export const credentialHelperConfig = 'credential.helper=!"$BERTH_CREDENTIAL_HELPER"'

export function credentialEnvironment(helperPath: string, remote: RemoteAddress, username: string): Record<string, string> {
  return {
    BERTH_CREDENTIAL_HELPER: helperPath,
    BERTH_CREDENTIAL_PROTOCOL: remote.scheme,
    BERTH_CREDENTIAL_HOST: new URL(remote.url).host,
    BERTH_CREDENTIAL_USERNAME: username,
  }
}

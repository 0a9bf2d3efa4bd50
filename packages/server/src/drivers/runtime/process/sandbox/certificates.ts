import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Variables with the path of a certificate file, by which programs trust the operator's own authority. */
const fileVariables =
  /^((NIX_)?SSL_CERT_FILE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|PIP_CERT|npm_config_cafile|NPM_CONFIG_CAFILE|YARN_HTTPS_CA_FILE_PATH|CARGO_HTTP_CAINFO|DENO_CERT|AWS_CA_BUNDLE)$/

export const certificateFolder = 'certificates'
const maxBytes = 10 * 1024 * 1024

/**
 * Copies the operator's certificate files into the runtime's folder, readable by every project: the originals may lie where no
 * project has access. Returns the variables with the paths of the copies. A variable without a readable file is left out.
 */
export function copyCertificates(
  environment: Readonly<Record<string, string | undefined>>,
  folder: string,
): Record<string, string> {
  const copies: Record<string, string> = {}
  for (const [name, file] of Object.entries(environment)) {
    if (!file?.startsWith('/') || !fileVariables.test(name)) continue
    const content = readCertificates(file)
    if (content) copies[name] = copyOf(content, join(folder, certificateFolder))
  }
  return copies
}

/** Null for a file that is missing, unreadable or holds no certificate. A private key is never copied. */
function readCertificates(file: string): string | null {
  try {
    if (!statSync(file).isFile() || statSync(file).size > maxBytes) return null
    const found = readFileSync(file, 'latin1').match(/-----BEGIN (TRUSTED )?CERTIFICATE-----[^-]+-----END \1?CERTIFICATE-----/g)
    return found ? `${found.join('\n')}\n` : null
  } catch {
    return null
  }
}

function copyOf(content: string, folder: string): string {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  const target = join(folder, `${createHash('sha256').update(content).digest('hex').slice(0, 16)}.pem`)
  writeFileSync(`${target}.${process.pid}`, content)
  chmodSync(`${target}.${process.pid}`, 0o644)
  renameSync(`${target}.${process.pid}`, target)
  return target
}

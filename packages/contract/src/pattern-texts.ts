/** The accepted form of a field, by the pattern of its schema. A validation error contains this text. */
const patternTexts: Readonly<Record<string, string>> = {
  '^(?=[^]*[^\\s\\u200b-\\u200f\\u2060-\\u2064\\ufeff])[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$':
    'must be one line with at least one visible character, without control characters',
  '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$': 'must be lower-case letters, digits and inner hyphens, such as my-shop',
  '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$': 'must begin with a letter or digit; after that also _ . and - are allowed',
  '^[A-Za-z0-9][A-Za-z0-9_.-]*$': 'must begin with a letter or digit; after that also _ . and - are allowed',
  '^(\\*|[a-zA-Z0-9][a-zA-Z0-9_.-]*)$': 'must be * or begin with a letter or digit; after that also _ . and - are allowed',
  '^[A-Za-z_][A-Za-z0-9_]*$': 'must be letters, digits and _, and not begin with a digit, such as DATABASE_URL',
  '^(?!/)(?!(.*/)?\\.\\.(/|$))[^\\u0000-\\u001f\\\\]*$':
    'must be a path relative to the root of the source, without .. and backslashes, such as apps/web',
  '^/[^\\u0000-\\u001f\\u007f]*$': 'must begin with / and contain no control characters, such as /health',
  '^/(?!(.*/)?\\.\\.(/|$))[^\\u0000-\\u001f:]*$': 'must be an absolute path without .. and colons, such as /data',
  '^/': 'must begin with /',
  '^(?!-)(?!\\.{1,2}$)[A-Za-z0-9_.-]+$': 'must be letters, digits, _ . and -, and not begin with -',
  '^(?!-)(?!\\.{1,2}(/|$))[A-Za-z0-9_.-]+(/(?!\\.{1,2}(/|$))[A-Za-z0-9_.-]+)*$':
    'must be an account or a group path of letters, digits, _ . and -, such as acme or acme/web',
  '^(?!-|@$)(?!.*(\\.\\.|@\\{|\\.lock(/|$)|\\.$))(?!.*(^|/)(\\.|/|$))[^\\u0000-\\u0020~^:?*\\[\\\\\\u007f-\\u009f\\p{Cf}]+$':
    'must be a branch name that git allows, such as main or release/1.x',
  '^[^\\s/:@?#%\\[\\]\\\\]+$': 'must be a host name without scheme, port and path, such as shop.example.com',
  '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$':
    'must be a registry as image names spell it, such as ghcr.io or registry.example.com:5000',
  '^[A-Za-z0-9_.-]+/([A-Za-z0-9_.-]+|\\*)$': 'must be owner/repository or owner/*',
  '^https?://[^\\s/?#]': 'must begin with http:// or https:// and name a host',
  '^[A-Za-z0-9:\\[][A-Za-z0-9.:_%\\[\\]-]*$': 'must be a host name or an IP address',
  '^[A-Za-z_][A-Za-z0-9_.-]*\\$?$': 'must be a user name of letters, digits, _ . and -',
  '^/[^\\u0000-\\u001f]*$': 'must be an absolute path',
  '^[0-9a-f]{64}$': 'must be a SHA-256 of 64 lower-case hexadecimal digits',
  '^[0-9a-fA-F]{7,64}$': 'must be a commit of 7 to 64 hexadecimal digits',
}

/** The accepted form as text; without a text, the pattern itself. */
export const patternText = (pattern: string): string =>
  (Object.hasOwn(patternTexts, pattern) ? patternTexts[pattern] : undefined) ?? imageText(pattern) ?? `must match ${pattern}`

/** The pattern of image names is too long to repeat here. */
const imageText = (pattern: string): string | undefined =>
  pattern.startsWith('^(?!(sha256:)?[0-9a-f]{64}$)')
    ? 'must be an image by its name, such as nginx:1.27 or ghcr.io/acme/shop:2, and not by its id'
    : undefined

/** The patterns that have a text. */
export const describedPatterns: readonly string[] = Object.keys(patternTexts)

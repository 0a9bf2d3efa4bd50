import type { DestinationKind } from '@berth/contract'
import type { FormField } from './form-field.ts'

/** The form fields of each kind of destination. */
export const destinationFields: Record<DestinationKind, readonly FormField[]> = {
  local: [
    {
      name: 'path',
      label: 'Folder',
      description: 'Inside the backup roots of this instance',
      isWide: true,
      placeholder: 'nightly',
    },
  ],
  s3: [
    { name: 'bucket', label: 'Bucket' },
    { name: 'prefix', label: 'Prefix', isOptional: true },
    { name: 'endpoint', label: 'Endpoint', isOptional: true, placeholder: 'https://s3.example.com' },
    { name: 'region', label: 'Region', isOptional: true },
    { name: 'accessKeyId', label: 'Access key id' },
    { name: 'secretAccessKey', label: 'Secret access key', isSecret: true },
  ],
  sftp: [
    { name: 'host', label: 'Host' },
    { name: 'port', label: 'Port', isOptional: true, isNumber: true, placeholder: '22' },
    { name: 'user', label: 'User' },
    { name: 'path', label: 'Folder' },
    { name: 'password', label: 'Password', isSecret: true, isOptional: true },
    { name: 'privateKey', label: 'Private key, instead of the password', isOptional: true, isLong: true },
  ],
}

/** The config from the filled-in fields. S3-compatible servers with their own endpoint need the bucket in the path. */
export function destinationConfig(kind: DestinationKind, values: Readonly<Record<string, string>>): Record<string, unknown> {
  const filled = destinationFields[kind].flatMap(({ name, isNumber }) => {
    const value = values[name]
    return value ? [[name, isNumber ? Number(value) : value] as const] : []
  })
  return { ...Object.fromEntries(filled), ...(kind === 's3' && values.endpoint ? { forcePathStyle: true } : {}) }
}

import type { ServerBody } from '@berth/contract'
import type { FormField } from './form-field.ts'

export const serverFields: readonly FormField[] = [
  { name: 'name', label: 'Name', placeholder: 'harbour-1' },
  { name: 'host', label: 'Host or address', placeholder: 'server.example.com' },
  { name: 'port', label: 'SSH port', isOptional: true, isNumber: true, placeholder: '22' },
  { name: 'user', label: 'User', isOptional: true, placeholder: 'root' },
  {
    name: 'privateKey',
    label: 'Private key',
    isOptional: true,
    isLong: true,
    placeholder: '-----BEGIN OPENSSH PRIVATE KEY-----',
  },
  { name: 'password', label: 'Password, instead of the key', isOptional: true, isSecret: true },
  { name: 'dockerSocket', label: 'Docker socket', isOptional: true, placeholder: '/var/run/docker.sock' },
]

/** The filled-in fields as a request body; an empty field gets the server's default. */
export function serverBody(values: Readonly<Record<string, string>>): ServerBody {
  const filled = serverFields.flatMap(({ name, isNumber, isLong }) => {
    const value = values[name]
    // Some parsers reject a key without a final line break.
    return value ? [[name, isNumber ? Number(value) : isLong ? `${value.trimEnd()}\n` : value] as const] : []
  })
  return Object.fromEntries(filled) as ServerBody
}

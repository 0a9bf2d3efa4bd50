import { type Static, Type } from 'typebox'
import { Id, secret, Time } from '../shape.ts'

/** A registry host as in image names: `ghcr.io`, `registry.example.com:5000`. `docker.io` is Docker Hub. */
const RegistryHost = Type.String({
  minLength: 1,
  maxLength: 253,
  pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$',
  description: 'Registry as image names spell it, such as `ghcr.io` or `registry.example.com:5000`; `docker.io` is Docker Hub',
})

/** The password is write-only: it is stored encrypted and sent only to that host. */
export const RegistryLogin = Type.Object({
  id: Id,
  host: Type.String({ description: 'Registry that the login is for' }),
  username: Type.String({ description: 'User name at the registry' }),
  createdAt: Time,
  updatedAt: Time,
})
export type RegistryLogin = Static<typeof RegistryLogin>

export const RegistryLoginBody = Type.Object({
  host: RegistryHost,
  username: Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: '^[^:\\u0000-\\u001f\\u007f]*$',
    description: 'User name at the registry',
  }),
  password: secret(
    Type.String({
      minLength: 1,
      maxLength: 10_000,
      pattern: '^[^\\u0000-\\u001f\\u007f]*$',
      description: 'Password or access token; never shown again',
    }),
  ),
})
export type RegistryLoginBody = Static<typeof RegistryLoginBody>

import { route } from '../route.ts'
import { data, list, PageQuery } from '../shape.ts'
import { RegistryLogin, RegistryLoginBody } from './shapes.ts'

/** Registry logins of an organisation, used to pull private images. */
export const registries = {
  list: route('GET /registries', {
    summary: 'Logins at image registries, without their passwords',
    permission: 'organization:write',
    query: PageQuery,
    returns: list(RegistryLogin),
  }),
  save: route('POST /registries', {
    summary: 'Add the login for a registry, or replace the existing one for that host',
    permission: 'organization:write',
    body: RegistryLoginBody,
    returns: data(RegistryLogin),
    alsoStatus: 201,
  }),
  remove: route('DELETE /registries/:registryId', {
    summary: 'Remove a login; running projects are not affected',
    permission: 'organization:write',
    on: 'registryLogin',
    status: 204,
  }),
}

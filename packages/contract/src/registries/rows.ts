import { route } from '../route.ts'
import { data, list, PageQuery } from '../shape.ts'
import { RegistryLogin, RegistryLoginBody } from './shapes.ts'

/** Logins that the projects of an organisation fetch private images with. */
export const registries = {
  list: route('GET /registries', {
    summary: 'Logins at image registries, without their passwords',
    permission: 'organization:write',
    query: PageQuery,
    returns: list(RegistryLogin),
  }),
  save: route('POST /registries', {
    summary: 'Add the login for a registry; where the organisation has one for that host, replace it',
    permission: 'organization:write',
    body: RegistryLoginBody,
    returns: data(RegistryLogin),
    alsoStatus: 201,
  }),
  remove: route('DELETE /registries/:registryId', {
    summary: 'Forget a login; what runs goes on running',
    permission: 'organization:write',
    on: 'registryLogin',
    status: 204,
  }),
}

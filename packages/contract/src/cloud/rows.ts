import { route } from '../route.ts'
import { data, nullable } from '../shape.ts'
import { Transfer } from '../transfers/shapes.ts'
import { CloudLink, CloudLinkBody } from './shapes.ts'

/** The link of a self-hosted instance to the cloud service. */
export const cloud = {
  link: route('PUT /cloud/link', {
    confirm: true,
    summary: 'Link this instance to the cloud service with a token created there',
    permission: 'cloud:admin',
    selfHostedOnly: true,
    body: CloudLinkBody,
    returns: data(CloudLink),
    errors: ['cloud_unreachable'],
  }),
  getLink: route('GET /cloud/link', {
    summary: 'Whether this instance is linked and the cloud is reachable',
    permission: 'cloud:read',
    selfHostedOnly: true,
    returns: data(CloudLink),
  }),
  unlink: route('DELETE /cloud/link', {
    summary: 'Remove the link; projects stay where they are',
    permission: 'cloud:admin',
    selfHostedOnly: true,
    status: 204,
  }),
  transfer: route('GET /projects/:id/transfer', {
    summary: 'Progress or result of the newest transfer of a project',
    permission: 'project:read',
    on: 'project',
    here: true,
    selfHostedOnly: true,
    returns: data(nullable(Transfer)),
  }),
}

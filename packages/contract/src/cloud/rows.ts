import { route } from '../route.ts'
import { data } from '../shape.ts'
import { CloudLink, CloudLinkBody } from './shapes.ts'

/** The one link of a self-hosted instance to the cloud service. */
export const cloud = {
  link: route('PUT /cloud/link', {
    summary: 'Link this instance to the cloud service with a token made there',
    permission: 'cloud:admin',
    selfHostedOnly: true,
    body: CloudLinkBody,
    returns: data(CloudLink),
    errors: ['cloud_unreachable'],
  }),
  getLink: route('GET /cloud/link', {
    summary: 'Whether this instance is linked, and whether the cloud answers',
    permission: 'cloud:read',
    selfHostedOnly: true,
    returns: data(CloudLink),
  }),
  unlink: route('DELETE /cloud/link', {
    summary: 'Forget the link; projects stay where they are',
    permission: 'cloud:admin',
    selfHostedOnly: true,
    status: 204,
  }),
}

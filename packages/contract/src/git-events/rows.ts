import { Type } from 'typebox'
import { limits } from '../limits.ts'
import { route } from '../route.ts'
import { data, text, wholeList } from '../shape.ts'
import { PullRequest, WebhookReceipt } from './shapes.ts'

/** Webhook deliveries of git hosts, and their results: deployments on push, previews of pull requests. */
export const gitEvents = {
  receiveWebhook: route('POST /webhooks/git/:provider', {
    summary: 'Webhook of the git host: push, pull request, installation deleted, ping; the signature covers the raw body',
    public: true,
    rawBody: true,
    credential: 'hookSignature',
    bodyBytes: limits.gitDeliveryBytes,
    rateLimit: 'publicWebhook',
    query: Type.Object({ hook: Type.Optional(text(64)) }),
    returns: data(WebhookReceipt),
    status: 202,
    errors: ['unauthorized', 'invalid_json', 'not_found', 'conflict'],
  }),
  listPullRequests: route('GET /projects/:id/pull-requests', {
    summary: 'Pull requests that the git host reported, with their previews or why they have none',
    permission: 'project:read',
    on: 'project',
    returns: wholeList(PullRequest),
  }),
  approvePullRequest: route('POST /projects/:id/pull-requests/:number/approve', {
    confirm: true,
    summary: "Approve the preview of a fork's pull request, for its current commit",
    permission: 'project:admin',
    on: 'project',
    body: Type.Object({ commit: Type.Optional(text(64)) }),
    bodyOptional: true,
    returns: data(PullRequest),
    status: 202,
    errors: ['not_found', 'conflict'],
  }),
}

/** Every error code of the API, with its status and its default message. */
export const errors = {
  validation_failed: [400, 'A field is missing or out of range'],
  invalid_json: [400, 'The request body is not valid JSON'],
  cron_invalid: [400, 'The cron expression is invalid. Use five fields, for example "0 3 * * *".'],
  no_source: [400, 'No git host is connected. Connect one under Git in the dashboard, or with berth git connect.'],
  source_unreadable: [400, 'Reading the folder exceeded the time or memory limit'],
  delivery_failed: [400, 'The test notification could not be delivered'],
  unauthorized: [401, 'Sign in, or send a personal access token as "Authorization: Bearer …"'],
  second_factor_required: [401, 'Enter the code of your authenticator app, or a recovery code'],
  forbidden: [403, 'You do not have permission to do this'],
  second_factor_not_set_up: [
    403,
    'The organisation requires two-factor authentication, and your account has none. Sign in to the dashboard and set it up there.',
  ],
  quota_exceeded: [403, 'The organisation has reached its quota'],
  not_found: [404, 'Not found'],
  conflict: [409, 'The current state does not allow this'],
  slug_taken: [409, 'This slug is already used'],
  no_isolation: [409, 'This machine cannot isolate projects from each other'],
  email_taken: [409, 'This e-mail address is already used'],
  work_in_progress: [409, 'Another operation is running on this project'],
  project_disabled: [409, 'The project is disabled. Enable it first.'],
  no_app_installation: [409, 'The git host app is not installed for this owner'],
  already_there: [409, 'The project already exists at the target'],
  cloud_not_linked: [409, 'This instance is not linked to a cloud. Link it first.'],
  transfer_failed: [409, 'The transfer failed. Nothing was changed.'],
  destination_in_use: [409, 'A backup policy uses this destination'],
  already_set_up: [409, 'This instance is already set up'],
  server_in_use: [409, 'A project uses this server'],
  last_owner: [409, 'An organisation needs at least one owner'],
  not_staged: [409, 'The restore is not staged'],
  not_restorable: [409, 'This backup run cannot be restored'],
  domain_taken: [409, 'This domain is connected to another project of your organisation'],
  nothing_to_deploy: [409, 'The project has no source to deploy'],
  nothing_to_restart: [409, 'The project has no running deployment to restart'],
  nothing_to_roll_back_to: [409, 'This deployment cannot be rolled back to'],
  request_timeout: [408, 'The request timed out before it was complete'],
  payload_too_large: [413, 'The request body is too large'],
  unsupported_media_type: [415, 'Send the body as application/json'],
  expectation_failed: [417, 'The Expect header is not supported'],
  headers_too_large: [431, 'The request URL and headers are too large'],
  rate_limited: [429, 'Too many requests. Wait, then try again.'],
  internal: [500, 'Internal error. Retry, and report the request id if it happens again.'],
  not_built_yet: [501, 'This route is not implemented yet'],
  server_unreachable: [502, 'The server is unreachable'],
  adoption_failed: [502, 'The services could not be adopted'],
  remote_unreachable: [502, 'The git remote is unreachable'],
  git_host_limited: [503, 'The rate limit of the git host is used up. Try again later.'],
  cloud_unreachable: [503, 'The cloud is unreachable'],
  starting: [503, 'The instance is starting. Try again in a few seconds.'],
  unavailable: [503, 'The instance is stopping or overloaded. Try again.'],
  storage_full: [507, "No space left on the instance's disk. Its operator has to free some space; then try again."],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type ErrorCode = keyof typeof errors

export const statusOf = (code: ErrorCode): number => errors[code][0]
export const messageOf = (code: ErrorCode): string => errors[code][1]

export interface FieldProblem {
  field: string
  message: string
}

/** The shape of every error response. */
export interface ErrorBody {
  error: string
  code: ErrorCode
  field?: string
  details?: FieldProblem[]
  /** The missing permission tag, for `forbidden`. */
  permission?: string
}

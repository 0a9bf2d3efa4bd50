/** Every error the API can answer with: its status and the words used when a handler has none of its own. */
export const errors = {
  validation_failed: [400, 'A field is missing or out of range'],
  invalid_json: [400, 'This is not valid JSON'],
  cron_invalid: [400, 'The cron expression cannot be parsed'],
  no_source: [400, 'No git host source is usable: connect an app, an account or the command-line login first'],
  source_unreadable: [400, 'The folder takes more time or memory to look at than it may'],
  delivery_failed: [400, 'The test message did not arrive'],
  unauthorized: [401, 'Sign in, or send a personal access token as "Authorization: Bearer …"'],
  forbidden: [403, 'You may not do this'],
  quota_exceeded: [403, 'The organisation has used up what it may have here'],
  not_found: [404, 'Not found'],
  conflict: [409, 'This cannot be done in the current state'],
  slug_taken: [409, 'This slug is taken'],
  no_isolation: [409, 'Projects cannot be kept apart on this machine'],
  email_taken: [409, 'This e-mail address is taken'],
  work_in_progress: [409, 'Work is under way on this project'],
  project_disabled: [409, 'The project is disabled: enable it first'],
  no_app_installation: [409, 'The git host app is not installed for this owner'],
  already_there: [409, 'The project is already there'],
  cloud_not_linked: [409, 'This instance is not linked to a cloud: link it first'],
  transfer_failed: [409, 'The project could not be moved; nothing was changed'],
  destination_in_use: [409, 'A backup policy uses this destination'],
  already_set_up: [409, 'This instance is already set up'],
  server_in_use: [409, 'A project uses this server'],
  last_owner: [409, 'An organisation needs at least one owner'],
  not_staged: [409, 'The restore is not staged'],
  not_restorable: [409, 'This run cannot be restored'],
  domain_taken: [409, 'This domain is connected to another project of your organisation'],
  nothing_to_deploy: [409, 'The project has no source to deploy'],
  nothing_to_restart: [409, 'Nothing of the project runs that could be restarted'],
  nothing_to_roll_back_to: [409, 'This deployment cannot be rolled back to'],
  request_timeout: [408, 'The request did not arrive in time'],
  payload_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'Send the body as application/json'],
  expectation_failed: [417, 'The expectation in the Expect header cannot be met'],
  headers_too_large: [431, 'The address and the headers are too long'],
  rate_limited: [429, 'Too many requests: wait and try again'],
  internal: [500, 'Something went wrong on our side'],
  not_built_yet: [501, 'This part of the service is not built yet'],
  server_unreachable: [502, 'The server cannot be reached'],
  adoption_failed: [502, 'The services could not be adopted'],
  remote_unreachable: [502, 'The git remote cannot be reached'],
  git_host_limited: [503, 'The git host takes no more calls for now: its rate limit is used up'],
  cloud_unreachable: [503, 'The cloud service cannot be reached'],
  starting: [503, 'The instance is starting: nobody can sign in yet'],
  unavailable: [503, 'The service is stopping or overloaded: try again'],
  storage_full: [507, "No space left on the instance's disk. Its operator has to free some space; then try again."],
} as const satisfies Record<string, readonly [status: number, words: string]>

export type ErrorCode = keyof typeof errors

export const statusOf = (code: ErrorCode): number => errors[code][0]
export const wordsOf = (code: ErrorCode): string => errors[code][1]

export interface FieldProblem {
  field: string
  message: string
}

/** The one shape of every error answer. */
export interface ErrorBody {
  error: string
  code: ErrorCode
  field?: string
  details?: FieldProblem[]
  /** With `forbidden`: the permission tag that was missing. */
  permission?: string
}

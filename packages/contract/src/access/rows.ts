import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, filledText, Id, list, nullable, PageQuery, pageQuery, secret, text } from '../shape.ts'
import {
  AuditEntry,
  Email,
  Grant,
  Invitation,
  LevelName,
  Member,
  NewInvitation,
  NewToken,
  Organization,
  Password,
  RoleName,
  Session,
  Token,
  TokenBody,
} from './shapes.ts'

const RepositoryPattern = Type.String({ maxLength: 200, pattern: '^[A-Za-z0-9_.-]+/([A-Za-z0-9_.-]+|\\*)$' })

export const access = {
  login: route('POST /auth/login', {
    public: true,
    rateLimit: 'login',
    body: Type.Object({ email: text(254, 1), password: secret(text(200, 1)) }),
    returns: data(Session),
    errors: ['unauthorized'],
    summary: 'Sign in to the dashboard; sets the session cookie',
  }),
  logout: route('POST /auth/logout', { public: true, status: 204, errors: ['forbidden'], summary: 'End the session' }),
  session: route('GET /auth/session', {
    permission: 'organization:read',
    projectTokens: 'own',
    returns: data(Session),
    summary: 'Who is asking, in which organisation, and what they may do',
  }),
  setup: route('POST /auth/setup', {
    public: true,
    rateLimit: 'login',
    status: 201,
    body: Type.Object({ code: secret(text(200, 1)), email: Email, password: secret(Password), organization: filledText(100) }),
    returns: data(Session),
    errors: ['already_set_up', 'not_found'],
    summary: 'First start: make the owner with the one-time code that the instance printed',
  }),

  listTokens: route('GET /tokens', {
    permission: 'token:list',
    query: PageQuery,
    returns: list(Token),
    summary: 'Your personal access tokens in this organisation',
  }),
  createToken: route('POST /tokens', {
    permission: 'token:write',
    status: 201,
    body: TokenBody,
    names: { projectIds: 'project' },
    returns: data(NewToken),
    summary: 'Create a personal access token; its value is shown only here',
  }),
  revokeToken: route('DELETE /tokens/:id', {
    permission: 'token:write',
    on: 'token',
    projectTokens: 'own',
    status: 204,
    summary: 'Revoke a token, and with it those that were made with it',
  }),

  listOrganizations: route('GET /organizations', {
    permission: 'organization:list',
    query: PageQuery,
    returns: list(Organization),
    summary: 'The organisations you belong to',
  }),
  createOrganization: route('POST /organizations', {
    permission: 'organization:write',
    status: 201,
    body: Type.Object({ name: filledText(100) }),
    returns: data(Organization),
    summary: 'Create an organisation; you become its owner',
  }),
  getOrganization: route('GET /organizations/:id', {
    permission: 'organization:read',
    on: 'organization',
    returns: data(Organization),
    summary: 'One organisation',
  }),
  updateOrganization: route('PATCH /organizations/:id', {
    permission: 'organization:admin',
    on: 'organization',
    body: Type.Object({
      name: Type.Optional(filledText(100)),
      memberRepositories: Type.Optional(nullable(Type.Array(RepositoryPattern, { maxItems: 500 }))),
    }),
    returns: data(Organization),
    summary: 'Rename it, or choose the repositories its members see (null: all)',
  }),
  deleteOrganization: route('DELETE /organizations/:id', {
    permission: 'organization:delete',
    on: 'organization',
    status: 204,
    errors: ['conflict'],
    summary: 'Delete an organisation that has no projects',
  }),

  listMembers: route('GET /members', {
    permission: 'member:list',
    query: PageQuery,
    returns: list(Member),
    summary: 'The members of the active organisation',
  }),
  updateMember: route('PATCH /members/:userId', {
    permission: 'member:admin',
    on: 'member',
    body: Type.Object({ role: RoleName }),
    returns: data(Member),
    errors: ['last_owner'],
    summary: "Change a member's role; only an owner makes or unmakes owners",
  }),
  removeMember: route('DELETE /members/:userId', {
    permission: 'member:admin',
    on: 'member',
    status: 204,
    errors: ['last_owner'],
    summary: 'Remove a member; their sessions and tokens for this organisation end',
  }),

  listInvitations: route('GET /invitations', {
    permission: 'invitation:list',
    query: PageQuery,
    returns: list(Invitation),
    summary: 'Invitations that are still open',
  }),
  createInvitation: route('POST /invitations', {
    permission: 'invitation:admin',
    status: 201,
    body: Type.Object({ email: Email, role: RoleName }),
    returns: data(NewInvitation),
    errors: ['conflict'],
    summary: 'Invite a person by e-mail address; the code works once, for that address',
  }),
  revokeInvitation: route('DELETE /invitations/:id', {
    permission: 'invitation:admin',
    on: 'invitation',
    status: 204,
    summary: 'Withdraw an invitation',
  }),
  acceptInvitation: route('POST /invitations/accept', {
    public: true,
    rateLimit: 'login',
    status: 201,
    body: Type.Object({
      code: secret(text(200, 1)),
      email: Email,
      password: secret(Password),
      name: Type.Optional(filledText(100)),
    }),
    returns: data(Session),
    errors: ['not_found', 'unauthorized'],
    summary: 'Join an organisation; a new person chooses a password, a known one proves theirs',
  }),

  listGrants: route('GET /projects/:id/grants', {
    permission: 'project:read',
    on: 'project',
    query: PageQuery,
    returns: list(Grant),
    summary: "People whose level on this project differs from their role's",
  }),
  setGrant: route('PUT /projects/:id/grants', {
    permission: 'project:admin',
    on: 'project',
    body: Type.Object({ userId: Id, level: nullable(LevelName) }),
    names: { userId: 'member' },
    returns: list(Grant),
    summary: "Raise or lower one person's level on this project; null goes back to the role's",
  }),

  auditLog: route('GET /audit-log', {
    permission: 'audit:list',
    query: Type.Object({
      ...pageQuery,
      action: Type.Optional(text(200)),
      objectId: Type.Optional(text(64)),
      userId: Type.Optional(text(64)),
    }),
    names: { userId: 'member' },
    returns: list(AuditEntry),
    summary: 'Every write, newest first; each entry carries the hash of the one before it',
  }),
}

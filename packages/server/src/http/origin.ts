import type { FastifyRequest } from 'fastify'

/** Where this request itself was sent. */
const ownOrigin = ({ protocol, host }: FastifyRequest) => `${protocol}://${host}`

/** Browsers say with every call that may change something which site's page makes it; what is no browser says nothing. */
export const isFromElsewhere = (request: FastifyRequest): boolean =>
  request.headers.origin !== undefined && request.headers.origin !== ownOrigin(request)

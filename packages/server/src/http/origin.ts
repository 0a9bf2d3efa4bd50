import type { FastifyRequest } from 'fastify'

/** Origin of the URL that the request was sent to. */
const ownOrigin = ({ clientProtocol, host }: FastifyRequest) => `${clientProtocol}://${host}`

/** Whether another site's page sent the request. Browsers send Origin with every state-changing call; other clients send none. */
export const isCrossOrigin = (request: FastifyRequest): boolean =>
  request.headers.origin !== undefined && request.headers.origin !== ownOrigin(request)

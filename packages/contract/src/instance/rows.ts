import { Type } from 'typebox'
import { route } from '../route.ts'
import { data, oneOf } from '../shape.ts'

export const instance = {
  health: route('GET /health', {
    public: true,
    returns: data(Type.Object({ status: oneOf('ok'), version: Type.String(), mode: oneOf('self-hosted', 'cloud') })),
    errors: ['starting'],
    summary: 'Whether the instance answers and its first owner can sign in',
  }),
}

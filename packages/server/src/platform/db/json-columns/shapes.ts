import { type Static, type TSchema, Type } from 'typebox'

/** Pieces that the shapes of JSON columns are made of. */

export const texts = Type.Array(Type.String())
export const textByName = Type.Record(Type.String(), Type.String())
export const anyObject = Type.Record(Type.String(), Type.Unknown())
export const orNull = <T extends TSchema>(shape: T) => Type.Unsafe<Static<T> | null>({ anyOf: [shape, { type: 'null' }] })

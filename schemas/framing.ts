// Confluent wire format: byte 0 is zero, bytes 1-4 the schema id (big-endian), the Avro body follows.

export const FRAME_BYTES = 5;

/** The schema id of the framed value from `start` to `end`, or undefined when it is not in the Confluent wire format. */
export function schemaIdOf(bytes: Buffer, start = 0, end = bytes.length): number | undefined {
  if (end - start < FRAME_BYTES || bytes[start] !== 0) return undefined;
  return bytes.readUInt32BE(start + 1);
}

/** Prepends the frame of `schemaId` to an Avro body. */
export function frame(schemaId: number, body: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(FRAME_BYTES + body.length);
  framed[0] = 0;
  framed.writeUInt32BE(schemaId, 1);
  body.copy(framed, FRAME_BYTES);
  return framed;
}

/** The Avro body of a framed value; it does not depend on the registry that assigned the id. */
export const bodyOf = (value: Buffer): Buffer => value.subarray(FRAME_BYTES);

/** Header of a record that was put back: the id of its dead letter, which identifies the record if it fails again. */
export const LETTER_HEADER = 'dead-letter-id';

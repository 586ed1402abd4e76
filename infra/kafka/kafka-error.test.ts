import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import { isFinal, isGroupFence, isProducerFence, isTooLarge, kafkaError, protocolType } from './kafka-error.ts';

/** Wrapped like in kafkajs: the protocol's error is two levels down. */
const wrapped = (type: string): Error =>
  new Error('tried too often', { cause: new Error('not retriable', { cause: Object.assign(new Error(`it says ${type}`), { type }) }) });

describe('errors of the client', () => {
  it('are recognized by the name that the protocol gives them, at any depth', () => {
    expect(protocolType(wrapped('ILLEGAL_GENERATION'))).toBe('ILLEGAL_GENERATION');
    expect(protocolType(new Error('connection lost'))).toBeUndefined();
    expect(protocolType('text')).toBeUndefined();
    const circular: Error & { cause?: unknown } = new Error('circle');
    circular.cause = circular;
    expect(protocolType(circular)).toBeUndefined();
  });

  it.each([
    ['ILLEGAL_GENERATION', isGroupFence],
    ['UNKNOWN_MEMBER_ID', isGroupFence],
    ['REBALANCE_IN_PROGRESS', isGroupFence],
    ['INVALID_PRODUCER_EPOCH', isProducerFence],
    ['PRODUCER_FENCED', isProducerFence],
    ['MESSAGE_TOO_LARGE', isTooLarge],
    ['TOPIC_AUTHORIZATION_FAILED', isFinal],
  ])('%s is recognized', (type, is) => {
    expect(is(wrapped(type))).toBe(true);
    expect(is(wrapped('NOT_LEADER_FOR_PARTITION'))).toBe(false);
  });

  it.each([
    ['MESSAGE_TOO_LARGE', 'RECORD_TOO_LARGE'],
    ['SASL_AUTHENTICATION_FAILED', 'CONFIG_INVALID'],
    ['NOT_LEADER_FOR_PARTITION', 'KAFKA_UNAVAILABLE'],
  ])('%s becomes %s, saying what was being done', (type, code) => {
    const cause = wrapped(type);
    expect(kafkaError('reading x', cause)).toMatchObject({ code, cause, message: expect.stringMatching(/^reading x: /) as string });
  });

  it('contain a hint if there is one, and our own errors are unchanged', () => {
    expect(kafkaError('reading x', wrapped('UNKNOWN_TOPIC_OR_PARTITION')).message).toContain('turnstream topics apply');
    const ours = new PlatformError('GROUP_FENCED', 'fenced');
    expect(kafkaError('reading x', ours)).toBe(ours);
    expect(kafkaError('reading x', Object.assign(new Error('no'), { name: 'KafkaJSSASLAuthenticationError' })).code).toBe('CONFIG_INVALID');
  });
});

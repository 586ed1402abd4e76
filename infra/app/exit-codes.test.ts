import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { PlatformError } from '../../streams/core/errors.ts';
import { describeError, exitCodeForCommand } from '../cli/report-error.ts';
import { exitCodeOf } from './exit-codes.ts';

describe('exit codes', () => {
  it('tell what kind of failure it was', () => {
    expect(exitCodeOf(new PlatformError('CONFIG_INVALID', 'x'))).toBe(2);
    expect(exitCodeOf(new PlatformError('RUN_FINISHED', 'x'))).toBe(2);
    expect(exitCodeOf(new PlatformError('PRODUCER_FENCED', 'x'))).toBe(3);
    expect(exitCodeOf(new PlatformError('LEDGER_BROKEN', 'x'))).toBe(1);
    expect(exitCodeOf(new Error('x'))).toBe(1);
    expect(exitCodeForCommand(new CommanderError(0, 'commander.help', ''))).toBe(0);
    expect(exitCodeForCommand(new CommanderError(1, 'commander.unknownOption', ''))).toBe(2);
    expect(exitCodeForCommand(new PlatformError('AUDIT_FAILED', 'x'))).toBe(1);
  });

  it('come with one message, and with stacks only if the output is verbose', () => {
    const error = new PlatformError('PORT_IN_USE', 'listening on 127.0.0.1:1: taken', { cause: new Error('EADDRINUSE') });
    expect(describeError(error, false)).toBe('turnstream: listening on 127.0.0.1:1: taken [PORT_IN_USE]\n');
    expect(describeError(error, true)).toContain('EADDRINUSE');
    expect(describeError(new Error('odd'), false)).toContain('TURNSTREAM_LOG_LEVEL=debug');
    expect(describeError('text', true)).toContain('text');
  });
});

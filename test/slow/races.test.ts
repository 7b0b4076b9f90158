import { it } from 'vitest';
import { expectExactHits } from '../support/storm.js';

/** As test/wire/races, with as many requests as the design asks for. */
it('10,000 requests over 80 connections hit once exactly once, and times: 7 exactly seven times', () =>
  expectExactHits(10_000, 80));

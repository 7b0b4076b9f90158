import { type Lease, leasedCopyOf } from '../slabs.js';
import type { Account } from './account.js';
import type { Ledger } from './ledger.js';
import { ledgerLine, ledgerOf } from './ledger-line.js';
import type { Makeable } from './shelf.js';

/** The ledger of an exchange that has settled, and the line of the journal that tells the same; made when asked for. */
export class OwedLedger implements Makeable {
  private account: Account | undefined;
  private made: Ledger | undefined;
  /** Of the bytes that the account's intent is worked out of. */
  private lease: Lease | undefined;

  constructor(account: Account, lease: Lease | undefined) {
    this.account = account;
    this.lease = lease;
  }

  make(): Ledger {
    this.made ??= ledgerOf(this.worked());
    this.account = undefined;
    return this.made;
  }

  /** As the journal has it, until the next line is made. */
  line(): Buffer {
    return this.made ? Buffer.from(JSON.stringify(this.made)) : ledgerLine(this.worked());
  }

  drop(): void {
    this.account = undefined;
    this.letGo();
  }

  /** The account, which needs no bytes any more. */
  private worked(): Account {
    const { account } = this;
    if (!account?.intent) throw new Error('a ledger is made once, and not of one that was dropped');
    this.letGo();
    return account;
  }

  private letGo(): void {
    this.lease?.letGo();
    this.lease = undefined;
  }
}

/** A ledger that is a line of the journal already: a thousand of them are nothing to the collector as they are there. */
export class WrittenLedger implements Makeable {
  private readonly written: Lease;
  private made: Ledger | undefined;

  constructor(line: Buffer) {
    this.written = leasedCopyOf(line);
  }

  make(): Ledger {
    this.made ??= JSON.parse(String(this.written.bytes())) as Ledger;
    return this.made;
  }

  drop(): void {
    this.written.letGo();
  }
}

"""A small thesaurus: everyday synonyms for the words of APIs.

The heads are frequent words in the paths and summaries of some 700 APIs. A synonym must be right in most APIs that use
its head. Synonyms that are right only in APIs of one field, such as music, are in `FIELDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Words = tuple[str, ...]


def _table(lines: str) -> Mapping[str, Words]:
    """Return the words after each head of lines such as `add, append: put insert`."""
    table: dict[str, Words] = {}
    for line in filter(None, map(str.strip, lines.splitlines())):
        heads, _, words = line.partition(":")
        for head in heads.split(","):
            known = table.get(head.strip(), ())
            table[head.strip()] = (*known, *(word for word in words.split() if word not in (*known, head.strip())))
    return table


VERBS: Final = _table(
    """
    accept: agree approve
    acknowledge: confirm
    activate: enable turn switch
    add, append, attach, insert: add put append attach insert
    allow, grant, permit: allow permit give
    approve: accept agree allow
    archive: store away
    assign: give
    associate, bind: link connect
    autocomplete: suggest complete
    ban, block: ban block
    book, reserve: book reserve
    browse: show look
    buy, purchase: buy order
    calculate, compute, estimate: calculate estimate
    cancel, abort: cancel stop
    change, edit, modify, patch, update: change edit modify adjust
    check: test look
    clear, empty, flush, purge: clear empty delete
    clone, copy, duplicate: copy clone duplicate
    close, complete, finalize, finish: close finish end done
    combine, merge: combine join unite
    configure: change set
    confirm: accept
    connect: link join
    convert, transform: convert turn change
    count: number
    create: make new add start
    deactivate, disable: disable stop turn
    decline, deny, reject: decline refuse reject
    delete, destroy, remove: delete remove erase
    deploy: publish release install
    detach, disconnect: remove separate
    discard: throw
    dismiss: close hide
    download, export: download save
    enable: activate turn
    execute, invoke: run start
    extend: prolong longer
    fetch, get, read, retrieve, view: show see
    find, lookup, query, search: find search look
    follow, subscribe, watch: follow subscribe
    generate: make create
    hide: invisible
    import: load
    initialize, initiate, launch: start begin create
    install: setup
    invite: ask add
    issue: create give
    join: enter
    kick: remove throw expel
    leave: exit quit
    list: show all
    locate: find where
    mark: set flag
    migrate, move, transfer: move transfer
    mute: silence quiet
    notify: tell inform
    open: start
    pause: stop interrupt
    post: send write
    predict: forecast
    process: handle
    promote: raise
    provision: create
    publish: release post
    push: send
    put, replace: change replace overwrite
    reboot, restart: restart reboot again
    rebuild: again
    recommend: suggest
    recover, restore: restore recover back undelete
    redeem: use
    refresh, reload, renew: renew again
    refund: money back
    register: signup join create
    release: free
    rename: name change
    reopen: open again
    reorder: order sort move
    reply: answer respond
    request: ask
    resend, retry: again repeat
    reschedule: move later
    reset: back again
    resize, scale: size grow bigger smaller
    resolve: solve
    resume: continue
    revert, rollback, undo: undo back previous
    review: check
    revoke: withdraw remove
    rotate: renew change
    run: start execute
    save, store: save keep store
    share: give access
    schedule: plan later
    send: write
    set: change
    sign: signature
    skip: next
    snooze: later quiet
    sort: order
    split: divide
    start: begin run launch
    stop, terminate, end: stop end finish
    submit: send
    suggest: recommend propose
    suspend: pause block
    swap, switch: change exchange
    sync, synchronize: update
    tag: label mark
    test: try check
    toggle: turn switch
    track: follow where
    translate: language
    trigger: start run
    unarchive: restore back
    unassign, unlink: remove
    unblock, unlock: allow open
    unfollow, unsubscribe: stop remove
    uninstall: remove delete
    upload: send add put
    upgrade: newer
    upsert: create update add change
    validate, verify: check confirm test
    void: cancel
    withdraw: back
    """
)
"""What people say for the verb of a tool."""

NOUNS: Final = _table(
    """
    account: login user
    activity: history happened recent
    address: location
    administrator, admin: manager
    alarm, alert: warning notification alarm
    analytics, metric, statistic, stat: numbers figures statistics
    app, application: program software
    artifact, asset, attachment: file
    attendee, participant: people guest member
    audit: history changes
    author: writer
    avatar, icon, logo, thumbnail: picture image
    backup, snapshot: backup copy snapshot
    balance: money
    billing: payment invoice money
    bookmark, favorite, favourite, star: favorite favourite bookmark like
    bug: error problem
    campaign: advertising
    cart: basket
    category: kind type
    chart: graph diagram
    chat: message talk
    checkout: pay buy
    city: town place
    client, customer: client customer buyer
    archived, deleted, trashed: deleted old
    available: possible
    bandwidth: traffic network
    certificate: https ssl
    collaborator, member: people person somebody member user colleague
    collaboration: share access together give
    cpu: processor load
    current, currently: now
    deployment: release version
    dns: domain address
    historical: past earlier
    latest, newest, recent, recently: latest newest recently lately last
    memory: ram
    next: following after
    pending: waiting open
    previous: earlier before last
    quantity: amount
    salary, payroll: salary wage
    saved: kept
    size: big large
    top, popular: best popular favourite
    upcoming: next soon future
    volume: size
    comment, remark: comment note
    company, organisation, organization: company firm
    configuration, config, preference, setting: settings options
    contact: person people
    contract: agreement
    coupon, voucher: discount
    credential, secret: password key
    currency, fund: money
    dashboard, overview, summary: overview summary
    dataset: data
    deadline: due
    delivery, shipment, shipping: delivery parcel package
    dependency: depends needs
    description: text
    device: phone computer machine
    directory, folder: folder directory
    document: file paper
    draft: unfinished
    email, mail: email mail
    employee, staff: worker colleague employee
    ephemeral: temporary visible
    error, failure: error problem wrong
    expense, fee, price, rate: cost price
    feedback: opinion
    field, property: field property
    file: document
    film, movie: film movie
    forecast: prediction
    genre: style kind
    group, team: group team people
    guest: visitor
    health: status alive working
    history: past previous earlier
    holiday, vacation: holiday vacation
    host, instance, server: server machine computer
    image, photo, picture: image photo picture
    incident, outage: problem outage
    inventory, stock: stock available
    invoice: bill
    issue, ticket: issue problem ticket
    job: task work
    label, tag: label tag
    language, locale: language translation
    license: permission
    limit, quota: limit maximum
    link, permalink, url: link address
    location, place, venue: location place where
    log: history messages output
    market, country: country land
    media: picture video
    meeting: appointment
    membership: member people
    merchant, seller, vendor: shop seller
    message: text
    metadata: information properties
    milestone: goal
    mobile, phone, telephone: phone telephone
    news: new
    notification: message alert
    offer, quote: offer price
    order: purchase
    owner: person
    password: login
    payment, payout, transaction: payment money paid
    permission, privilege: permission rights access allowed
    person: people somebody human
    plugin, extension, addon: extension addon
    policy, rule: rule policy
    poll, survey: question vote
    presence: online available active
    product: article item
    profile: account person information
    promotion: discount
    queue: next waiting after
    rating: stars score
    reaction: emoji react
    receipt: bill
    recipient, receiver: to
    recommendation, suggestion: recommend suggest similar
    record: entry
    refund: back
    region: place location
    release: version new
    reminder: remind remember
    replica: copy
    reply: answer reply
    repository, repo: project code repository
    request: ask
    reservation, booking: booking reservation
    resource: thing
    response: answer
    retention: keep
    revision, version: version revision older
    review: opinion rating
    role: permission rights
    route: way path
    schedule: plan timetable
    section: column part
    sender: from
    service: offer
    session: login
    shop, store: shop store
    similar, related: similar like
    sku: product
    speech: voice
    statement: bill
    status, state: status state
    step, stage, phase: step phase
    storage: space disk
    subscriber, follower: follower fan
    subscription: plan
    supplier: seller
    tax, vat: tax vat
    template: pattern
    thread: discussion replies
    timeline, calendar: calendar dates
    title: name
    topic: subject
    traffic: visitors
    transcript: text
    translation: language
    trash, bin: trash deleted bin
    trend, trending: popular
    trip: journey
    uptime: online working up
    usage, consumption: usage used
    user: person people somebody account colleague
    vehicle: car
    video: film clip
    vulnerability: security hole
    wallet: money
    warehouse: store
    webhook: notify event callback
    website, site, domain: website site
    whitelist: allowed
    workflow: process automation
    workspace: company team
    """
)
"""What people say for other words of a tool."""

FIELDS: Final[tuple[Mapping[str, Words], ...]] = (
    _table(
        """
        album: record
        artist: band singer musician
        genre: style
        library: collection
        lyrics: words
        play, playback, played, player: play music listen
        playlist: songs
        show: podcast
        save, saved: like liked favourite
        track: song
        """
    ),
    _table(
        """
        channel: room conversation
        chat: message
        conversation: channel room chat
        dm: private
        emoji: smiley
        message: post
        thread: answers
        """
    ),
    _table(
        """
        cluster: machines
        firewall: port
        image: system
        instance: vm virtual
        kubernetes: container
        node: machine
        region: datacenter
        server: vm virtual
        snapshot: backup
        volume: disk storage
        """
    ),
    _table(
        """
        branch: version
        commit: change
        fork: copy
        issue: bug
        merge: combine
        pull: change
        repo, repository: project
        """
    ),
    _table(
        """
        assignee: responsible person
        board: project
        card: task
        checklist: steps
        due: deadline
        goal: objective target
        project: work
        section: column
        subtask: smaller part
        task: todo work
        """
    ),
    _table(
        """
        balance: owe account
        card: credit
        charge: payment pay
        customer: buyer
        dispute: complaint
        invoice: bill
        payout: transfer
        subscription: plan recurring
        """
    ),
)
"""The same for words that have such a meaning only beside others: at least three heads of a table in one document."""

%% Keeps the waiting messages of this node, ordered by due time, and releases them.
-module(rabbit_delayed_stand_in_holder).
-behaviour(gen_server).
-include_lib("rabbit_common/include/rabbit.hrl").

-export([start_link/0, hold/3, is_self/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2]).

%% Publishes that arrive during a burst of releases wait for one batch, not for the burst.
-define(BATCH, 200).

-rabbit_boot_step({?MODULE,
                   [{description, "holder of delayed messages (in-memory stand-in)"},
                    {mfa, {rabbit_sup, start_restartable_child, [?MODULE]}},
                    {cleanup, {rabbit_sup, stop_child, [rabbit_delayed_stand_in_holder_sup]}},
                    {requires, kernel_ready},
                    {enables, core_initialized}]}).

%% table: ETS, outside the process heap, so that 100 000 messages cost no garbage collection.
%% timer: undefined, or {Reference, DueMs} of the earliest message.
-record(state, {table, timer}).

start_link() -> gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% A call, not a cast: it slows the publisher down to what the holder can take, and a confirm
%% means that the message is in the table. By the wall clock, as the genuine plugin, so that a
%% clock that is set back makes it wait; + 1 because the current millisecond has already begun.
hold(Exchange, Message, DelayMs) ->
    DueMs = erlang:system_time(millisecond) + 1 + DelayMs,
    gen_server:call(?MODULE, {hold, DueMs, Exchange, Message}, infinity).

is_self() -> whereis(?MODULE) =:= self().

init([]) -> {ok, #state{table = ets:new(?MODULE, [ordered_set, private])}}.

handle_call({hold, DueMs, Exchange, Message}, _From, #state{table = Table} = State) ->
    %% The integer keeps the order of publishing among messages due in the same millisecond.
    true = ets:insert(Table, {{DueMs, erlang:unique_integer([monotonic])}, Exchange, Message}),
    {reply, ok, arm(State)}.

handle_cast(_, State) -> {noreply, State}.

handle_info({timeout, Reference, release}, #state{timer = {Reference, _}} = State) ->
    release_due(State#state.table, erlang:system_time(millisecond), ?BATCH),
    {noreply, arm(State#state{timer = undefined})};
handle_info(_, State) -> {noreply, State}.  % a timer that fired while it was being replaced

release_due(_Table, _NowMs, 0) -> ok;
release_due(Table, NowMs, Left) ->
    case ets:first(Table) of
        {DueMs, _} = Key when DueMs =< NowMs ->
            [{Key, Exchange, Message}] = ets:take(Table, Key),
            release(Exchange, Message),
            release_due(Table, NowMs, Left - 1);
        _ -> ok
    end.

%% One message that cannot be routed must not take the others down with this process.
release(Exchange, Message) ->
    try rabbit_delayed_stand_in_exchange:release(Exchange, Message)
    catch Class:Reason:Stack ->  % logged to a depth of 15: the stack holds the whole message
        logger:warning("delayed message to ~ts dropped: ~0tP",
                       [rabbit_misc:rs(Exchange#exchange.name), {Class, Reason, Stack}, 15])
    end.

%% Keeps exactly one timer, set to the earliest due time; in the past it fires at once.
arm(#state{table = Table, timer = Timer} = State) ->
    case {ets:first(Table), Timer} of
        {'$end_of_table', _} -> State;
        {{DueMs, _}, {_, ArmedMs}} when ArmedMs =< DueMs -> State;
        {{DueMs, _}, _} ->
            Timer =:= undefined orelse erlang:cancel_timer(element(1, Timer)),
            State#state{timer = {erlang:start_timer(wait_ms(DueMs), self(), release), DueMs}}
    end.

wait_ms(DueMs) -> max(DueMs - erlang:system_time(millisecond), 0).

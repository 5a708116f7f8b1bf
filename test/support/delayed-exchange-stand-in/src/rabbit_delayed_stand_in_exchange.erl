%% The exchange type x-delayed-message: decides whether a message waits, and leaves
%% everything else (bindings, routing) to the exchange type named in x-delayed-type.
-module(rabbit_delayed_stand_in_exchange).
-behaviour(rabbit_exchange_type).
-include_lib("rabbit_common/include/rabbit.hrl").

-export([description/0, serialise_events/0, info/1, info/2]).
-export([validate/1, validate_binding/2, assert_args_equivalence/2, policy_changed/2]).
-export([create/2, delete/2, delete/3, add_binding/3, remove_bindings/3, release/2]).
%% The build sets MESSAGE_CONTAINERS when the broker has the module `mc` (3.13 and later):
%% there a message is an mc container and routing takes options. Before, it is a #delivery{},
%% a record that the later header files no longer define.
-ifdef(MESSAGE_CONTAINERS).
-export([route/3]).
-else.
-export([route/2]).
-endif.
-define(TYPE, <<"x-delayed-message">>).
-define(MAX_DELAY_MS, 4294967295).

%% `recovery` restores durable exchanges and their bindings: the type has to be known by then.
-rabbit_boot_step({?MODULE,
                   [{description, "exchange type x-delayed-message (in-memory stand-in)"},
                    {mfa, {rabbit_registry, register, [exchange, ?TYPE, ?MODULE]}},
                    {cleanup, {rabbit_registry, unregister, [exchange, ?TYPE]}},
                    {requires, [rabbit_registry, rabbit_delayed_stand_in_holder]},
                    {enables, recovery}]}).

description() -> [{description, <<"In-memory stand-in for the delayed message exchange">>}].
serialise_events() -> false.
info(_X) -> [].
info(_X, _Items) -> [].

-ifdef(MESSAGE_CONTAINERS).
route(X, Message, Options) ->
    hold_or(X, Message, delay_ms(mc:x_header(<<"x-delay">>, Message)), fun() -> (inner_module(X)):route(X, Message, Options) end).

publish(X, Message) -> rabbit_queue_type:publish_at_most_once(X, Message).
-else.
route(X, #delivery{message = #basic_message{content = Content} = Message} = Delivery) ->
    Delay = case rabbit_basic:header(<<"x-delay">>, rabbit_basic:extract_headers(Content)) of
                {_Key, Type, Value} -> delay_ms({Type, Value});
                undefined -> none
            end,
    hold_or(X, Message, Delay, fun() -> (inner_module(X)):route(X, Delivery) end).

%% A new delivery: the publisher's one carries its channel's confirm number and flow control,
%% and both were settled when the message was taken in.
publish(X, Message) ->
    Delivery = rabbit_basic:delivery(false, false, Message, undefined),
    Queues = rabbit_amqqueue:lookup(rabbit_exchange:route(X, Delivery)),
    rabbit_queue_type:deliver(Queues, Delivery, stateless).
-endif.

%% Routed to nothing, as the genuine plugin does: the channel then confirms the publish at once,
%% and also returns it if it was published as mandatory.
hold_or(X, Message, DelayMs, RouteNow) ->
    ok = fail_on_demand(),
    %% When the holder itself asks, this message has waited. That goes for a second delayed
    %% exchange behind the first, too: one wait per message.
    case DelayMs =:= none orelse rabbit_delayed_stand_in_holder:is_self() of
        true -> RouteNow();
        false -> rabbit_delayed_stand_in_holder:hold(X, Message, DelayMs), []
    end.

%% As a plugin whose tables are gone: the channel's process dies, and its connection ends with 541.
fail_on_demand() ->
    case application:get_env(rabbitmq_delayed_exchange_stand_in, fails_publishes) of
        {ok, true} -> rabbit_delayed_stand_in_holder:is_self() orelse exit(publish_failed_on_demand), ok;
        _ -> ok
    end.

%% Text that is no number, and a decimal, crash the channel: 541 and the end of the connection, as with the genuine plugin.
delay_ms({timestamp, _}) -> none;  % an integer on the wire, but a point in time
delay_ms({decimal, _} = Decimal) -> error({badarg, Decimal});
delay_ms({_, Ms}) when is_integer(Ms), Ms > 0, Ms =< ?MAX_DELAY_MS -> Ms;
delay_ms({_, Float}) when is_float(Float) -> delay_ms({long, trunc(Float)});
delay_ms({_, Text}) when is_binary(Text) -> delay_ms({long, binary_to_integer(Text)});
delay_ms(_) -> none.

%% Called by the holder when the time is up, with the exchange as it was at publish time: a policy
%% set meanwhile is ignored, bindings made meanwhile count, and so do those of an exchange that was
%% deleted and declared anew. It comes back to route above by way of rabbit_exchange:route,
%% which adds what exchanges of every type have: alternates, exchange-to-exchange bindings.
%% (Passing it off as an exchange of the inner type instead delivers nothing on 4.x: the index
%% of direct bindings has only exchanges declared as direct.)
release(X, Message) -> publish(X, Message).

validate(X) ->
    case find_inner_module(X) of
        {ok, Module} -> Module:validate(X);
        {unknown, Type} ->
            rabbit_exchange:check_type(Type);  % refuses it as the broker itself does: 503, from 4.0 on 406
        {error, Reason} ->
            rabbit_misc:protocol_error(precondition_failed, "cannot declare ~ts: x-delayed-type ~ts",
                                       [rabbit_misc:rs(X#exchange.name), Reason])
    end.

validate_binding(X, Binding) -> (inner_module(X)):validate_binding(X, Binding).
assert_args_equivalence(X, Args) -> (inner_module(X)):assert_args_equivalence(X, Args).
policy_changed(Before, After) -> (inner_module(After)):policy_changed(Before, After).
create(Serial, X) -> (inner_module(X)):create(Serial, X).
add_binding(Serial, X, Binding) -> (inner_module(X)):add_binding(Serial, X, Binding).
remove_bindings(Serial, X, Bindings) -> (inner_module(X)):remove_bindings(Serial, X, Bindings).

delete(Serial, X) -> (inner_module(X)):delete(Serial, X).
delete(Serial, X, Bindings) -> (inner_module(X)):delete(Serial, X, Bindings).

inner_module(X) -> element(2, {ok, _} = find_inner_module(X)).

find_inner_module(#exchange{arguments = Arguments}) ->
    case rabbit_misc:table_lookup(Arguments, <<"x-delayed-type">>) of
        {longstr, ?TYPE} -> {error, "must not be x-delayed-message itself"};
        {longstr, Name} -> module_of_type(Name, rabbit_registry:binary_to_type(Name));
        _ -> {error, "is missing or not a string"}
    end.

module_of_type(Name, Type) ->
    case is_atom(Type) andalso rabbit_registry:lookup_module(exchange, Type) of
        {ok, Module} -> {ok, Module};
        _ -> {unknown, Name}
    end.

/** Conversations of an agent server: what it says, and what that means in a log of ours. */
export { DeliveredEvents, type DeliveredEvent } from "./delivered-events.ts";
export { FollowedConversation, followConversation, startFollowing, toLifecycle } from "./follow-conversation.ts";
export { createOpenHandsNarrator, type OpenHandsNarrator, type ToldEvent } from "./narrate-openhands.ts";
export { ConversationInfo, FullState, OpenHandsEvent, SessionFrame, toSpent, type Spent } from "./openhands-event.ts";

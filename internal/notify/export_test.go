package notify

// Lost counts the messages and the acts in them that could not be delivered, also before this start, and of which no later message has told the sink.
func (n *Notifier) Lost() (messages, acts int) {
	for _, c := range n.channels {
		c.mu.Lock()
		messages, acts = messages+c.lost.Messages, acts+c.lost.Acts
		c.mu.Unlock()
	}
	return messages, acts
}

package stage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stockapi/loadtest/history"
)

// The sheet is in the language of its class, also its evidence and its votes.
func TestSheetInChinese(t *testing.T) {
	broken := func(v history.Verdict, e ...history.Evidence) *history.Cell {
		f := history.Finding{Verdict: v, Result: history.Broken, Because: "in English", Evidence: e}
		return &history.Cell{Product: product, Findings: []history.Finding{f}}
	}
	s := &Stage{Options: Options{Language: "zh"}, words: wordsOf("zh"), record: newRecord(nil)}
	votes := count{map[string]int{"S": 2, "none": 1}, map[string]int{"1": 2, "more": 1}}
	for _, cell := range []*history.Cell{
		broken(history.Stock, history.Evidence{Unit: 98, Orders: []string{"10000-anna", "10000-fox-2"}}),
		broken(history.OwnRelease, history.Evidence{Orders: []string{"10000-anna", "10000-bert"}}),
		broken(history.Liveness),
	} {
		s.sheet = append(s.sheet, page{Cell: cell, Round: &Round{}, First: votes})
	}
	var sheet strings.Builder
	require.NoError(t, s.WriteSheet(&sheet))
	for _, text := range []string{"第 98 件：安娜和狐狸-2", "安娜删掉了伯特的锁", "新的订单买不进去",
		"S 2, 不出错 1, ×1: 2, 多件: 1"} {
		assert.Contains(t, sheet.String(), text)
	}
	assert.NotContains(t, sheet.String(), "in English")
}

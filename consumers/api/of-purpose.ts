/** SQL: the condition on rows of attempts with the bound `purpose`; an empty one stands for all but evaluations. */
export const OF_PURPOSE = "if({purpose:String} = '', purpose != 'eval', purpose = {purpose:String})";
